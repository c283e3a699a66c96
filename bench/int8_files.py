# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/int8_files.py OCTET FILE.onnx...
"""Quantized BERT files of other tools as they come: octet bench and ONNX Runtime in turn, best / median milliseconds.

ONNX Runtime runs with all of its optimizations, as it is and in its exact mode (session.x64quantprecision=1, which does not
saturate on CPUs without VNNI). Every input is a batch of tokens, all ones.
Environment: BATCH, LENGTH, THREADS, ROUNDS, SECONDS (of octet in a round).
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy
import onnxruntime

BATCH, LENGTH = int(os.environ.get("BATCH", "8")), int(os.environ.get("LENGTH", "128"))
THREADS, ROUNDS, SECONDS = int(os.environ.get("THREADS", "1")), int(os.environ.get("ROUNDS", "5")), os.environ.get("SECONDS", "2")


def session(path, exact):
    """None: it does not load."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = THREADS, 4
    options.add_session_config_entry("session.x64quantprecision", str(int(exact)))
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:  # pylint: disable=broad-except
        return None


def seen_there(model):
    tokens = {i.name: numpy.ones((BATCH, LENGTH), numpy.int64) for i in model.get_inputs()}
    begin = time.perf_counter()
    model.run(None, tokens)
    return 1000 * (time.perf_counter() - begin)


def seen_here(octet, path, names):
    shapes = [word for name in names for word in ("--shape", f"{name}={BATCH}x{LENGTH}")]
    done = subprocess.run([octet, "bench", path, *shapes, "--seconds", SECONDS, "--threads", str(THREADS), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    octet, files = sys.argv[1], [pathlib.Path(file) for file in sys.argv[2:]]
    print(f"batch {BATCH} x {LENGTH}, {THREADS} threads, best / median ms\n\n"
          "| file | octet | ONNX Runtime | the same, exact mode |\n|---|---|---|---|")
    for path in files:
        plain, exact = session(path, False), session(path, True)
        names = [i.name for i in (plain or exact).get_inputs()]
        times = {"octet": [], "plain": [], "exact": []}
        for _ in range(ROUNDS):
            here = seen_here(octet, path, names)
            times["octet"].append((here["latency_ms_min"], here["latency_ms_median"]))
            for key, model in (("plain", plain), ("exact", exact)):
                if model is not None:
                    ms = [seen_there(model) for _ in range(4)]
                    times[key].append((min(ms), statistics.median(ms)))
        cells = [f"{min(b for b, _ in t):.0f} / {statistics.median(m for _, m in t):.0f}" if t else "does not load" for t in times.values()]
        print(f"| {path.parent.name} | {' | '.join(cells)} |", flush=True)


main()
