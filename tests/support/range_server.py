# SPDX-License-Identifier: Apache-2.0
# Serves a folder on the loopback interface for the download tests and prints its port. The first
# part of the path says how: ranges (as servers should), plain (knows no ranges), cut (closes the
# connection half way), wrong (every byte changed), long (one byte too many).
# usage: range_server.py FOLDER
import fcntl
import http.server
import pathlib
import socket
import struct
import sys

FOLDER = pathlib.Path(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        mode, _, name = self.path.lstrip("/").partition("/")
        file = FOLDER / name
        if mode == "gone" or not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        if mode == "wrong":
            content = bytes(byte ^ 1 for byte in content)
        elif mode == "long":
            content += b"x"
        start = 0
        wanted = self.headers.get("Range")
        if wanted and mode != "plain":
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if mode == "cut" else body)
        print(f"{mode} {start} {len(body)}", file=sys.stderr, flush=True)

    def log_message(self, *args):
        pass


def raise_loopback():
    """A network namespace of one's own (unshare -n) starts with the loopback interface down."""
    get_flags, set_flags, up, form = 0x8913, 0x8914, 1, "16sh22x"  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP, struct ifreq
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        reply = fcntl.ioctl(channel, get_flags, struct.pack(form, b"lo", 0))
        flags = struct.unpack(form, reply)[1]
        if not flags & up:
            fcntl.ioctl(channel, set_flags, struct.pack(form, b"lo", flags | up))


raise_loopback()
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
