# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/int8_models_onnxruntime.py OCTET FILE.onnx...
"""Float models of one float input, quantized by octet for itself and for ONNX Runtime on random data: best milliseconds in
turn of octet's int8 and float, ONNX Runtime's float and its int8 on the file made for it. A measurement of speed alone.

Environment: THREADS (1), ROUNDS (4), SECONDS of each in a round (0.3), EXAMPLES for calibration (4).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
from models_onnxruntime import ROUNDS, SECONDS, THREADS, shape_of

EXAMPLES = int(os.environ.get("EXAMPLES", "4"))


def loaded(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = THREADS, 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def seen_there(model, inputs):
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        model.run(None, inputs)
        best = min(best, 1000 * (time.perf_counter() - begin))
    return best


def seen_here(octet, path, inputs):
    done = subprocess.run([octet, "bench", path, "--inputs", inputs, "--threads", str(THREADS), "--seconds", str(SECONDS), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["latency_ms_min"]


def measured(octet, path, folder):
    """Best times, by what ran."""
    original = loaded(path)
    (value,) = original.get_inputs()
    shape = shape_of(path, value)
    data, one = folder / "data.npz", folder / "one.npz"
    random = numpy.random.default_rng(1)
    numpy.savez(data, **{value.name: random.uniform(-1, 1, (EXAMPLES, *shape[1:])).astype(numpy.float32)})
    inputs = {value.name: random.uniform(-1, 1, shape).astype(numpy.float32)}
    numpy.savez(one, **inputs)
    ours, theirs = folder / "octet.onnx", folder / "onnxruntime.onnx"
    for file in (ours, theirs):
        subprocess.run([octet, "quantize", path, "--data", f"npz:{data}", "--target", file.stem, "-o", file, "--force"],
                       capture_output=True, check=True)
    quantized = loaded(theirs)
    times = {"octet int8": [], "octet float": [], "ONNX Runtime float": [], "ONNX Runtime int8": []}
    for _ in range(ROUNDS):
        times["octet int8"].append(seen_here(octet, ours, one))
        times["ONNX Runtime float"].append(seen_there(original, inputs))
        times["ONNX Runtime int8"].append(seen_there(quantized, inputs))
        times["octet float"].append(seen_here(octet, path, one))
    return {name: min(seen) for name, seen in times.items()}


def main():
    octet, files = sys.argv[1], [pathlib.Path(file) for file in sys.argv[2:]]
    print(f"{THREADS} threads, best ms\n\n| model | octet int8 | octet float | ONNX Runtime float | ONNX Runtime int8 | faster of the two / octet int8 |\n"
          "|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for path in files:
            best = measured(octet, path, pathlib.Path(name))
            gain = min(best["ONNX Runtime float"], best["ONNX Runtime int8"]) / best["octet int8"]
            print(f"| {path.parent.name}/{path.stem} | {' | '.join(f'{ms:.3g}' for ms in best.values())} | {gain:.2f} |", flush=True)


main()
