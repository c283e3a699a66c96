# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/bert_onnxruntime.py MODEL [FILE.onnx...]
"""A BERT classifier in ONNX Runtime: octet's files against what quantize_static makes, in turn, on random tokens.

MODEL: a float model (a folder or model.onnx), FILE: octet's forms of it

quantize_static is tried in its forms: its defaults, uint8 activations, only products, per channel, Q/DQ and QOperator.
(1.31 does not take what onnxruntime.transformers' optimizer writes: types of com.microsoft's outputs are unknown to it.)
Best and median of the rounds for one batch of tokens, by the clock and of the processor's time; the sum of the fastest
run of each operator in ONNX Runtime's profile, which a busy machine disturbs least; then which operators of its own
optimized graph run each file.
Environment: BATCH, LENGTH, THREADS, ROUNDS, WORK (a folder for the peer's files, which are kept there), ONLY (names that
are compared, by commas: parts of them).
"""

import collections
import json
import os
import statistics
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnxruntime import quantization

BATCH, LENGTH = int(os.environ.get("BATCH", "1")), int(os.environ.get("LENGTH", "128"))
THREADS, ROUNDS = int(os.environ.get("THREADS", "2")), int(os.environ.get("ROUNDS", "25"))


def inputs_of(path, seed, batch=BATCH):
    generator = numpy.random.default_rng(seed)
    model = onnx.load(path, load_external_data=False)
    constants = {c.name for c in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        shape = (batch, LENGTH)
        feeds[value.name] = (generator.integers(100, 2000, shape) if "ids" in value.name and "type" not in value.name
                             else numpy.ones(shape) if "mask" in value.name else numpy.zeros(shape)).astype(numpy.int64)
    return feeds


class Reader(quantization.CalibrationDataReader):
    def __init__(self, path):
        self.batches = iter([inputs_of(path, seed, 2) for seed in range(4)])

    def get_next(self):
        return next(self.batches, None)


def peers(path, folder):
    """Files of quantize_static, by name; forms that it fails on are printed and left out."""
    static, kinds = quantization.quantize_static, quantization.QuantType
    formats = quantization.QuantFormat
    unsigned = {"activation_type": kinds.QUInt8, "weight_type": kinds.QInt8}
    products = {"op_types_to_quantize": ["MatMul", "Gemm"]}
    wanted = {"defaults": {}, "uint8": unsigned, "uint8 products": {**unsigned, **products},
              "uint8 products, per channel": {**unsigned, **products, "per_channel": True},
              "uint8 x uint8 products": {"activation_type": kinds.QUInt8, "weight_type": kinds.QUInt8, **products},
              "QOperator, uint8": {**unsigned, "quant_format": formats.QOperator},
              "QOperator, uint8 products": {**unsigned, **products, "quant_format": formats.QOperator}}
    files = {}
    for name, options in wanted.items():
        out = os.path.join(folder, name.replace(",", "").replace(" ", "_") + ".onnx")
        try:
            if not os.path.exists(out):
                static(path, out, Reader(path), **options)
            files["static " + name] = out
        except Exception as error:  # pylint: disable=broad-except
            print(f"quantize_static {name}: {str(error)[:100]}")
    return files


def settings(exact):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def session(path, folder, exact):
    options = settings(exact)
    options.optimized_model_filepath = os.path.join(folder, "seen.onnx")
    out = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    ops = collections.Counter(node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node)
    os.remove(options.optimized_model_filepath)
    return out, ops


def profiles(files, folder, feeds):
    """Sum of the fastest run of each operator, in ms, by name."""
    sessions = {}
    for number, (name, file) in enumerate(files.items()):
        options = settings(name.endswith(" (exact)"))
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, f"profile{number}")
        sessions[name] = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    for _ in range(ROUNDS):
        for name, one in sessions.items():
            one.run(None, feeds[name])
    sums = {}
    for name, one in sessions.items():
        path = one.end_profiling()
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        os.remove(path)
        fastest = {}
        for event in events:
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                fastest[event["name"]] = min(event["dur"], fastest.get(event["name"], event["dur"]))
        sums[name] = sum(fastest.values()) / 1e3
    return sums


def main():
    model = sys.argv[1]
    path = os.path.join(model, "model.onnx") if os.path.isdir(model) else model
    folder = os.environ.get("WORK") or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    files = {"float": path}
    for own in sys.argv[2:]:
        files["octet " + os.path.basename(own.rstrip("/"))] = os.path.join(own, "model.onnx") if os.path.isdir(own) else own
    files.update(peers(path, folder))
    only = os.environ.get("ONLY", "").split(",")
    files = {name: file for name, file in files.items() if any(part in name for part in only)}
    sessions, operators = {}, {}
    for name, file in files.items():
        for exact in (False, True):
            if exact and name == "float":
                continue
            try:
                key = name + (" (exact)" if exact else "")
                sessions[key], operators[key] = session(file, folder, exact)
            except Exception as error:  # pylint: disable=broad-except
                print(f"{name}: {str(error)[:120]}")
    feeds = {name: inputs_of(files[name.removesuffix(" (exact)")], 7) for name in sessions}
    times, work = collections.defaultdict(list), collections.defaultdict(list)
    for turn in range(ROUNDS + 2):
        for name, one in sessions.items():
            begin, begin_work = time.perf_counter(), time.process_time()
            one.run(None, feeds[name])
            if turn >= 2:
                times[name].append((time.perf_counter() - begin) * 1e3)
                work[name].append((time.process_time() - begin_work) * 1e3)
    sums = profiles({name: files[name.removesuffix(" (exact)")] for name in sessions}, folder, feeds)
    print(f"batch {BATCH}, {LENGTH} tokens, {THREADS} threads, ms: best, median of {ROUNDS}; the same of the processor's time; "
          "sum of each operator's best")
    for name in sorted(times, key=lambda n: statistics.median(times[n])):
        columns = [min(times[name]), statistics.median(times[name]), min(work[name]), statistics.median(work[name]),
                   sums[name]]
        print(" ".join(f"{c:8.2f}" for c in columns) + "  " + name)
    for name, ops in operators.items():
        if not name.endswith("(exact)"):
            print(name + ": " + ", ".join(f"{n} {op}" for op, n in ops.most_common(12)))


main()
