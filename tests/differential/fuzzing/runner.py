# SPDX-License-Identifier: Apache-2.0
"""octet_differential, one process for many models (tests/differential/protocol/serve.h says how it is asked)."""
import json
import os
import pathlib
import select
import struct
import subprocess
import time

import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Died(Exception):
    """The process ended, or did not answer in time."""


class Runner:
    def __init__(self, path=None, seconds=60):
        build = os.environ.get("OCTET_BUILD_DIR", ROOT / "build" / "release")
        self.path = pathlib.Path(path or os.environ.get("OCTET_DIFFERENTIAL") or pathlib.Path(build) / "bin" / "octet_differential")
        self.seconds = seconds
        self.process = None
        self.deadline = 0.0

    def start(self):
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def read(self, size):
        parts = []
        while size:
            if not select.select([self.process.stdout], [], [], max(self.deadline - time.monotonic(), 0))[0]:
                self.stop()
                raise Died(f"no answer in {self.seconds:g} s")
            part = os.read(self.process.stdout.fileno(), min(size, 1 << 20))
            if not part:
                code = self.process.wait()
                self.process = None
                raise Died(f"ended with {code}")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def ask(self, case):
        """{"outputs": {what: [arrays of a set]}, "files": {what: bytes}, "refusals": {}, "findings": [], "counts": {}}"""
        if self.process is None:
            self.start()
        blobs = [json.dumps({"sets": len(case.sets), "variant": case.seed, "bounds": not case.free}).encode(), case.model.SerializeToString()]
        for inputs in case.sets:
            blobs += [numpy_helper.from_array(inputs[i.name]).SerializeToString() for i in case.model.graph.input]
        message = b"".join([struct.pack("<I", len(blobs))] + [struct.pack("<Q", len(b)) + b for b in blobs])
        self.deadline = time.monotonic() + self.seconds
        try:
            while message:
                message = message[self.process.stdin.write(message):]
        except BrokenPipeError as error:
            self.stop()
            raise Died("closed its input") from error
        count = struct.unpack("<I", self.read(4))[0]
        reply = [self.read(struct.unpack("<Q", self.read(8))[0]) for _ in range(count)]
        head = json.loads(reply[0])
        outputs, files = {}, {}
        for name, blob in zip(head["blobs"], reply[1:]):
            what, *place = name.split("/")
            if what == "file":
                files[place[0]] = blob
            else:
                outputs.setdefault(what, {})[tuple(map(int, place))] = numpy_helper.to_array(onnx.TensorProto.FromString(blob))
        return {"outputs": outputs, "files": files, "refusals": head["refusals"], "findings": head["findings"], "counts": head["counts"]}
