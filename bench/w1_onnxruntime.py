# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench w1_onnxruntime
"""The small convolutional network in octet and in ONNX Runtime, side by side, in turn, on random inputs.

Reads the models that `make demo` leaves in out/demo (or the folder given). For each batch size and number of threads
it prints octet's int8 file against ONNX Runtime's float and int8 (each with and without its exact mode,
session.x64quantprecision=1), best and median of the rounds. What a call costs ONNX Runtime from Python, measured on
a model that only copies a scalar, is subtracted from its times.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import numpy
import onnx
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "out", "demo")
OCTET = os.path.join(ROOT, "build", "release", "bin", "octet")
ROUNDS = int(os.environ.get("ROUNDS", "7"))
SECONDS = 0.15


def session(model, threads, exact=False):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def bound(s, x):
    binding = s.io_binding()
    binding.bind_ortvalue_input(s.get_inputs()[0].name, onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_output(s.get_outputs()[0].name)
    return lambda: s.run_with_iobinding(binding)


def seconds_a_call(call):
    times = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def octet_seconds(path, batch, threads):
    out = subprocess.run(
        [OCTET, "bench", path, "--shape", f"x={batch}x1x28x28", "--threads", str(threads), "--seconds", str(SECONDS), "--json"],
        check=True, capture_output=True, text=True)
    return json.loads(out.stdout)["latency_ms_median"] / 1e3


def copy_call():
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "copy", [value], [result])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=10)
    return bound(session(model.SerializeToString(), 1), numpy.zeros(1, numpy.float32))


def compare(batch, threads):
    x = numpy.random.default_rng(0).uniform(-0.8, 2, (batch, 1, 28, 28)).astype(numpy.float32)
    path = {name: os.path.join(FOLDER, name + ".onnx") for name in ("cnn", "static", "onnxruntime")}
    theirs = {
        "ONNX Runtime float": bound(session(path["cnn"], threads), x),
        "ONNX Runtime int8": bound(session(path["onnxruntime"], threads), x),
        "ONNX Runtime int8 exact": bound(session(path["onnxruntime"], threads, exact=True), x),
    }
    overhead_call = copy_call()
    ours = {"octet float": path["cnn"], "octet int8": path["static"]}
    rounds = []
    for _ in range(ROUNDS):
        overhead = seconds_a_call(overhead_call)
        times = {name: max(seconds_a_call(call) - overhead, 1e-9) for name, call in theirs.items()}
        times.update({name: octet_seconds(file, batch, threads) for name, file in ours.items()})
        rounds.append(times)
    print(f"\nbatch {batch}, {threads} threads, {ROUNDS} rounds; microseconds a run")
    for name in rounds[0]:
        series = [r[name] * 1e6 for r in rounds]
        print(f"  {name:<26} best {min(series):8.1f}  median {statistics.median(series):8.1f}")
    ratios = [r["octet int8"] / min(r["ONNX Runtime float"], r["ONNX Runtime int8"]) for r in rounds]
    print(f"  octet int8 / the faster of ONNX Runtime's float and int8: best {min(ratios):.2f}, "
          f"median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    if not os.path.exists(os.path.join(FOLDER, "static.onnx")):
        sys.exit(f"{FOLDER} has no static.onnx; run `make demo` first")
    print(f"onnxruntime {onnxruntime.__version__}")
    for size in (1, 64):
        for count in (1, 2):
            compare(size, count)
