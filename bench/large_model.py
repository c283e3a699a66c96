# SPDX-License-Identifier: Apache-2.0
# A model of 3.2 GB with external data (24 products of 134 MB with what an exporter leaves around them), and how much
# memory check, simplify and quantize take for it. Two figures, sampled every 10 ms from /proc: anonymous memory, which
# is the process's own, and all of it (with pages of the mapped files that nobody has written to, which the system takes
# back when it needs them). The files are deleted afterwards; FOLDER needs 8 GB.
#
# usage: tools/setup-peers --run bench/large_model.py OCTET FOLDER
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
from onnx import TensorProto, helper

SIZE, LAYERS = 5792, 24


def external(name, offset, length):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[SIZE, SIZE], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "large.onnx.data"), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def make(folder):
    random = numpy.random.default_rng(0)
    nodes, constants, last = [], [], "x"
    with open(folder / "large.onnx.data", "wb") as data:
        for layer in range(LAYERS):
            w = random.normal(0, SIZE ** -0.5, (SIZE, SIZE)).astype(numpy.float32)
            constants.append(external(f"w{layer}", data.tell(), w.nbytes))
            data.write(w.tobytes())
            data.write(bytes(-data.tell() % 4096))
            for op, inputs, out in (("Identity", [last], "i"), ("MatMul", [f"i{layer}", f"w{layer}"], "m"),
                                    ("Dropout", [f"m{layer}"], "d"), ("Relu", [f"d{layer}"], "r")):
                last = f"{out}{layer}"
                nodes.append(helper.make_node(op, inputs, [last], f"{op}{layer}"))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", SIZE])
    graph = helper.make_graph(nodes, "large", [value("x")], [value(last)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "large.onnx").write_bytes(model.SerializeToString())
    numpy.save(folder / "x.npy", random.normal(0, 1, (2, SIZE)).astype(numpy.float32))


def peaks(*command):
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    own = everything = 0
    while process.poll() is None:
        try:
            status = dict(line.split(":", 1) for line in open(f"/proc/{process.pid}/status"))
            kib = lambda key: int(status.get(key, "0").split()[0])
            own, everything = max(own, kib("RssAnon")), max(everything, kib("VmHWM"))
        except (OSError, ValueError):
            pass
        time.sleep(0.01)
    return process.returncode, own / 1024, everything / 1024, time.monotonic() - begin


def main():
    octet, where = sys.argv[1:]
    print("| command | exit | own memory MB | all memory MB | s |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(dir=where) as scratch:
        folder = pathlib.Path(scratch)
        os.environ["TMPDIR"] = scratch
        make(folder)
        model, out = folder / "large.onnx", folder / "out" / "out.onnx"
        out.parent.mkdir()
        data = f"npy:x={folder}/x.npy"
        missed = 0
        for words in (("check", model, "--target", "tensorrt-10"), ("simplify", model, "-o", out),
                      ("quantize", model, "--mode", "weight-only", "-o", out),
                      ("quantize", model, "--mode", "dynamic", "-o", out),
                      ("quantize", model, "--data", data, "--target", "onnxruntime", "-o", out),
                      ("quantize", model, "--data", data, "--target", "tensorrt-10", "-o", out)):
            code, own, everything, seconds = peaks(octet, *words)
            missed += code != 0 or everything >= 1024
            text = " ".join(str(w) for w in words).replace(scratch + "/", "")
            print(f"| {text} | {code} | {own:.0f} | {everything:.0f} | {seconds:.1f} |", flush=True)
            for file in out.parent.iterdir():
                file.unlink()
        sys.exit(missed > 0)


main()
