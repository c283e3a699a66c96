# SPDX-License-Identifier: Apache-2.0
# `octet simplify` beside onnxsim on the same files, in turns: nodes left, and seconds with reading and writing, best of
# three (without the start of Python, with that of octet). Needs PyPI's onnx, onnxsim and onnxruntime, in which the outputs
# of octet's file are compared with those of the model as it came. bench/simplify_files.py makes files for it.
#
# usage: python3 bench/simplify_onnxsim.py OCTET MODEL.onnx...
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import onnxsim

TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_,
         "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


def nodes(graph):
    count = len(graph.node)
    for node in graph.node:
        for attribute in node.attribute:
            count += nodes(attribute.g) if attribute.type == onnx.AttributeProto.GRAPH else 0
    return count


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def inputs_for(model):
    random = np.random.default_rng(0)
    sizes, out = {}, {}
    for value in model.get_inputs():
        shape = [d if isinstance(d, int) else sizes.setdefault(d, 2 if axis == 0 else 8)
                 for axis, d in enumerate(value.shape)]
        kind = TYPES[value.type]
        floats = kind in (np.float32, np.float16)
        out[value.name] = (random.uniform(-1, 1, shape) if floats else random.integers(0, 2, shape)).astype(kind)
    return out


def difference(before, path):
    model, other = session(before), session(path)
    given = inputs_for(model)
    want = model.run(None, given)
    have = other.run(None, {v.name: given[v.name] for v in other.get_inputs()})
    return max(float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0)) / max(1.0, float(np.max(np.abs(a), initial=0)))
               for a, b in zip(want, have))


def main():
    octet, files = sys.argv[1], sys.argv[2:]
    print("| model | nodes | octet | onnxsim | octet s | onnxsim s | octet's difference |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = os.path.join(folder, "ours.onnx"), os.path.join(folder, "theirs.onnx")
        for path in files:
            seconds, others, left = [], [], ""
            for _ in range(3):
                start = time.perf_counter()
                subprocess.run([octet, "simplify", path, "-o", ours, "--force"], check=True, stdout=subprocess.DEVNULL)
                seconds.append(time.perf_counter() - start)
                start = time.perf_counter()
                try:
                    onnx.save(onnxsim.simplify(onnx.load(path))[0], theirs)
                    others.append(time.perf_counter() - start)
                except Exception as error:  # it refuses some files
                    left = type(error).__name__
            took = f"{min(others):.2f}" if others else "-"
            left = left or nodes(onnx.load(theirs).graph)
            print(f"| {os.path.basename(path)} | {nodes(onnx.load(path).graph)} | {nodes(onnx.load(ours).graph)} | {left} | "
                  f"{min(seconds):.2f} | {took} | {difference(path, ours):.1e} |", flush=True)


main()
