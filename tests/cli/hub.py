# SPDX-License-Identifier: Apache-2.0
"""octet import hf owner/name and octet data fetch of archives against servers on this machine: revisions become commits,
checksums, sizes, resuming, the cache, a token that no other host gets, and what is said where something is missing."""
import hashlib
import http.server
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from octet_command import OCTET, octet

COMMIT, TOKEN = "0123456789abcdef0123456789abcdef01234567", "hf_secret"
CONTENT, ASKED = {}, []  # name: bytes; (host, path, token, range)
MODE = {"blobs": True, "wrong": False, "cut": False, "private": False}


def git_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Server(http.server.BaseHTTPRequestHandler):
    role = "hub"

    def log_message(self, *_):
        pass

    def reply(self, status, content=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[: len(content) // 2] if MODE["cut"] and len(content) > 100000 else content)

    def file(self, content):
        start = 0
        if asked := self.headers.get("Range"):
            start = int(asked.removeprefix("bytes=").rstrip("-"))
        if MODE["wrong"]:
            content = bytes(b ^ 1 for b in content)
        self.reply(206 if start else 200, content[start:])

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        ASKED.append((self.role, self.path, self.headers.get("Authorization"), self.headers.get("Range")))
        parts = self.path.split("?")[0].strip("/").split("/")
        if self.role == "cdn":
            return self.file(CONTENT[parts[-1]])
        if MODE["private"] and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.reply(401)
        if parts[:2] == ["api", "models"] and parts[2:4] == ["some", "bert"] and parts[4] == "revision" and parts[5] in ("main", "v1", COMMIT):
            siblings = []
            for name, content in CONTENT.items():
                one = {"rfilename": name}
                if MODE["blobs"]:
                    one |= {"size": len(content), "blobId": git_id(content)}
                    if name.endswith(".safetensors"):
                        one |= {"blobId": git_id(b"a pointer"), "lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}}
                siblings.append(one)
            return self.reply(200, json.dumps({"sha": COMMIT, "siblings": siblings}).encode())
        if parts[:4] == ["some", "bert", "resolve", COMMIT] and parts[4] in CONTENT:
            name, content = parts[4], CONTENT[parts[4]]
            if name.endswith(".safetensors"):  # large files lie elsewhere
                return self.reply(302, b"Found. Redirecting", Location=f"http://localhost:{CDN}/{name}",
                                  X_Linked_Etag=f'"{hashlib.sha256(content).hexdigest()}"', X_Linked_Size=str(len(content)))
            if self.command == "HEAD":
                self.send_response(200)
                self.send_header("ETag", f'W/"{git_id(content)}"')
                self.send_header("Content-Length", str(len(content)))
                return self.end_headers()
            return self.file(content)
        return self.reply(404)


def serve(role):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Role", (Server,), {"role": role}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def fails(words, *arguments, **environment):
    done = subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    last = done.stderr.strip().splitlines()[-1] if done.stderr else ""
    assert done.returncode == 2 and words in last, (arguments, done.returncode, done.stderr)


def source_of(path):
    import onnx
    steps = [json.loads(p.value) for p in onnx.load(path).metadata_props if p.key == "octet.history"]
    return steps[0][-1].get("source")


def models():
    octet("train", "bert", "--data", "reviews?last=1", "--limit", "40", "--test-limit", "10", "--vocab", "200", "--size", "1x64", "--steps", "1",
          "--no-checkpoint", "--no-validation", "-o", "small/")
    octet("export", "hf", "small/", "-o", "small-hf/")
    for name in ("config.json", "model.safetensors"):
        CONTENT[name] = pathlib.Path("small-hf", name).read_bytes()
    for name in ("vocab.txt", "tokenizer_config.json"):
        CONTENT[name] = pathlib.Path("small", name).read_bytes()
    CONTENT["README.md"] = b"# words"
    weights = len(CONTENT["model.safetensors"])
    cached = pathlib.Path(os.environ["XDG_CACHE_HOME"], "octet/models/some--bert", COMMIT)

    # Cut off half way, then resumed; by the list's checksums.
    MODE["cut"] = True
    fails("model.safetensors", "import", "hf", "some/bert", "-o", "a/")
    assert not (cached / "model.safetensors").exists() and not pathlib.Path("a").exists()
    MODE["cut"] = False
    ASKED.clear()
    octet("import", "hf", "some/bert@v1", "-o", "a/")
    assert any(r and int(r[6:-1]) > 0 for _, path, _, r in ASKED if path.endswith("model.safetensors")), ASKED
    assert source_of("a/model.onnx") == f"hf:some/bert@{COMMIT}"
    assert pathlib.Path("a/vocab.txt").read_bytes() == CONTENT["vocab.txt"]
    assert not any("README" in path for _, path, _, _ in ASKED)
    ASKED.clear()
    said = json.loads(octet("import", "hf", f"some/bert@{COMMIT}", "-o", "b/", "--json"))
    assert not ASKED and said["source"] == f"hf:some/bert@{COMMIT}", ASKED  # it is there
    assert octet("predict", "b/", "a dull film")

    # A hub whose list has no checksums says them in the fields of its answers; wrong content never appears.
    def forget():
        for file in cached.iterdir():
            file.unlink()

    forget()
    MODE["blobs"] = False
    octet("import", "hf", "some/bert", "-o", "c/")
    forget()
    MODE["wrong"] = True
    fails("its content is wrong", "import", "hf", "some/bert", "-o", "d/")
    MODE["wrong"], MODE["blobs"] = False, True
    assert not (cached / "config.json").exists() and not pathlib.Path("d").exists()

    # The token goes to the hub, and not to where that leads.
    MODE["private"] = True
    fails("a token is given in HF_TOKEN", "import", "hf", "some/bert", "-o", "e/")
    fails("the token has no right to it", "import", "hf", "some/bert", "-o", "e/", HF_TOKEN="another")
    ASKED.clear()
    octet("import", "hf", "some/bert", "-o", "e/", env={**os.environ, "HF_TOKEN": TOKEN})
    assert {token for role, _, token, _ in ASKED if role == "hub"} == {f"Bearer {TOKEN}"}, ASKED
    assert {token for role, _, token, _ in ASKED if role == "cdn"} == {None}, ASKED
    forget()
    home = pathlib.Path("hf-home")
    home.mkdir()
    (home / "token").write_text(TOKEN + "\n")
    octet("import", "hf", "some/bert", "-o", "f/", env={**os.environ, "HF_HOME": str(home)})
    MODE["private"] = False

    # What is missing.
    fails("has no such model or revision", "import", "hf", "some/bart", "-o", "g/")
    fails("has no such model or revision", "import", "hf", "some/bert@v2", "-o", "g/")
    fails("octet import hf owner/name downloads", "import", "hf", "no/such/folder", "-o", "g/")
    fails("cannot fetch", "import", "hf", "some/bert", "-o", "g/", HF_ENDPOINT="http://127.0.0.1:1")
    fails("HF_ENDPOINT is \"nowhere\"", "import", "hf", "some/bert", "-o", "g/", HF_ENDPOINT="nowhere")
    fails("octet import hf owner/name -o gone downloads", "train", "bert", "--from", "gone", "--data", "reviews", "-o", "g/")
    fails("octet import hf owner/name -o gone downloads", "eval", "gone", "--data", "reviews")
    whole = CONTENT.pop("model.safetensors")
    forget()
    CONTENT["pytorch_model.bin"] = b"pickle"
    fails("pytorch_model.bin, which can run code", "import", "hf", "some/bert", "-o", "g/")
    assert len(whole) == weights


def zip_of(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_2", "-2"), text)
    return out.getvalue()


def data():
    """The files have known checksums, so others are refused; what fetching leaves is then read."""
    CONTENT["SST-2.zip"] = zip_of(SST_2__train="x")
    fails("expected are 7439277", "data", "fetch", "sst2", "--url", f"http://localhost:{CDN}/")
    fails("it is another file", "data", "fetch", "sst2", "--url", f"http://localhost:{CDN}/SST-2.zip")
    fails("does not begin with http:// or https://", "data", "fetch", "sst2", "--url", f"file://{os.getcwd()}")
    pathlib.Path("by-hand").mkdir()
    pathlib.Path("by-hand/SST-2.zip").write_bytes(CONTENT["SST-2.zip"])
    fails("by-hand/SST-2.zip has", "data", "fetch", "sst2", "-o", "by-hand", "--url", f"http://localhost:{CDN}/")
    fails("is a file; unpack it", "data", "show", "sst2:by-hand/SST-2.zip")
    fails("did you mean \"imdb\"", "data", "fetch", "imbd")
    fails("octet data fetch sst2", "data", "show", "sst2:nowhere")
    fails("octet data fetch mnist", "train", "cnn", "--data", "mnist:nowhere", "-o", "x.onnx")
    fails("octet data fetch fashion-mnist", "train", "cnn", "--data", "fashion-mnist:nowhere", "-o", "x.onnx")
    fails("octet data fetch imdb", "data", "show", "imdb:nowhere")
    folder = pathlib.Path("SST-2")
    folder.mkdir()
    (folder / "train.tsv").write_text("sentence\tlabel\n" + "".join(f"good film {i}\t1\nbad film {i}\t0\n" for i in range(20)))
    (folder / "dev.tsv").write_text("sentence\tlabel\na good one\t1\na bad one\t0\n")
    shown = octet("data", "show", "sst2:SST-2")
    assert "positive" in shown and "negative" in shown, shown
    fails("write sst2:./SST-2", "data", "show", "sst2:.")
    (folder / "dev.tsv").write_text("label\tcontent\n1\ta good one\n0\ta bad one\n")
    fails("test_text=COLUMN", "data", "show", "sst2:SST-2")
    octet("data", "show", "tsv:SST-2/train.tsv?text=sentence&label=label&classes=negative,positive&test=SST-2/dev.tsv&test_text=content")


def main():
    global CDN
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = str(pathlib.Path(folder, "cache"))
        for name in ("HF_TOKEN", "HF_HOME", "HF_TOKEN_PATH", "http_proxy", "HTTP_PROXY"):
            os.environ.pop(name, None)
        CDN = serve("cdn")
        os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{serve('hub')}"
        models()
        data()
        os.chdir("/")


CDN = 0
main()
