# SPDX-License-Identifier: Apache-2.0
"""Layers between Q/DQ with what moves values behind them: explain names the operator that ONNX Runtime runs."""
import itertools
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from qdq import Model, octet, onnxruntime_runs, operators

ZEROS = {"int8": np.int8(0), "uint8": np.uint8(128)}
SHAPES = {"Conv": [1, 8, 3, 3], "Gemm": [4, 8], "MatMul": [4, 8], "Add": [4, 8]}
MOVES = {"nothing": [], "Transpose": ["Transpose"], "Reshape": ["Reshape"], "both": ["Transpose", "Reshape"], "MaxPool": ["MaxPool"]}
BIASES = ("none", "float", "int32")


def layer(op, moves, readers, x_type, y_type, bias, quantized):
    """The model and its output; None: there is no such layer."""
    if bias != "none" and op not in ("Conv", "Gemm") or moves == "MaxPool" and op != "Conv":
        return None
    shape = SHAPES[op]
    m = Model(shape)
    x, scale = m.pair("x", 0.02, ZEROS[x_type]), 0.02
    if op == "Add":
        y = m.node("Add", [x, m.pair(m.node("Neg", ["x"]), scale, ZEROS[x_type])])
    else:
        codes = np.random.default_rng(0).integers(-60, 60, [8, 8, 1, 1] if op == "Conv" else [8, 8]).astype(np.int8)
        inputs = [x, m.dequantize(m.constant(codes), scale, np.int8(0))]
        if bias == "float":
            inputs.append(m.constant(np.zeros(8), np.float32))
        elif bias == "int32":
            inputs.append(m.dequantize(m.constant(np.zeros(8, np.int32)), np.float32(scale) * np.float32(scale), np.int32(0)))
        y = m.node(op, inputs)
    for move in MOVES[moves]:
        if move == "Transpose":
            y = m.node("Transpose", [y], perm=list(range(len(shape)))[::-1])
        elif move == "Reshape":
            y = m.node("Reshape", [y, m.constant(np.array([2, -1], np.int64))])
        else:
            y = m.node("MaxPool", [y], kernel_shape=[2, 2])
    if quantized:
        y = m.quantize(y, scale, ZEROS[y_type])
        heads = [m.dequantize(y, scale, ZEROS[y_type]) for _ in range(readers)]
    else:
        heads = [m.node("Abs", [y]) for _ in range(readers)]
    return m, heads[0] if readers == 1 else m.node("Mul", [m.node("Abs", heads[:1]), m.node("Sin", heads[1:])])


def main():
    found, counts, codes = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for words in itertools.product(SHAPES, MOVES, (1, 2), ZEROS, ZEROS, BIASES, (True, False)):
            made = layer(*words)
            if made is None or words[4] != "int8" and not words[6]:
                continue
            m, output = made
            m.save(path, output)
            optimized = path.with_suffix(".optimized")
            _, error = onnxruntime_runs(path, np.zeros(m.shape, np.float32), optimized)
            runs = error or next(o for o in operators(optimized) if o.endswith(words[0]) or o in ("QGemm", "MatMulIntegerToFloat"))
            layers = json.loads(octet("explain", path, "--target", "onnxruntime", "--json").stdout)["onnxruntime"]["layers"]
            said = next(l["form"] for l in layers if l["node"].startswith(words[0] + "_"))
            counts, codes = counts + 1, codes + (runs != words[0])
            if runs != said:
                found.append(f"{' '.join(map(str, words))}: ONNX Runtime runs {runs}, explain says {said}")
    print(f"{counts} layers, {codes} of them on codes, {len(found)} faults")
    print("\n".join(found[:60]))
    sys.exit(1 if found or codes < counts // 3 else 0)


main()
