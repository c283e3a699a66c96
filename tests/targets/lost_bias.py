# SPDX-License-Identifier: Apache-2.0
"""Float biases that ONNX Runtime rounds to steps of the sum and cuts off: over operators, types, granularities and what
stands behind the layer, check says bias-range of exactly the files of which ONNX Runtime computes other numbers once it
has optimized them, and of what repair writes ONNX Runtime computes what the file says."""
import collections
import itertools
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from qdq import Model, findings, octet, onnxruntime_runs

CHANNELS, LARGE, CHANNEL = 4, 1.5, 2
SHAPES = {"Conv": ([1, 4, 6, 6], [CHANNELS, 4, 3, 3], 0), "ConvTranspose": ([1, 4, 5, 5], [4, CHANNELS, 3, 3], 1),
          "Gemm": ([3, 4], [4, CHANNELS], 1), "Gemm transB": ([3, 4], [CHANNELS, 4], 0), "MatMul": ([3, 4], [4, CHANNELS], 1)}
CODES = {"uint8": (np.uint8(128), 0.02), "int8": (np.int8(0), 0.02), "int16": (np.int16(0), 1e-4)}
BEHIND = ["Q", "Relu Q", "Clip Q", "Relu Transpose Q", "Transpose Q", "MaxPool Q", "Transpose Relu Q", "LeakyRelu Q", "nothing", "Q and Neg"]
WEIGHTS = ["each", "one", "computed by Q", "float", "another axis"]
# Of what int32 holds, or of the largest number of 16 bits.
FACTORS = [0.3, 0.9, 1.1, 30]


def layer(op, codes, real, weights, behind, factor, opset, random):
    """The model and its output; None: there is no such layer."""
    kind, half = op.split()[0], real == np.float16
    convolves = kind.startswith("Conv")
    if (half or codes == "int16") and opset < 21 or half and weights == "float" or behind.startswith("MaxPool") and not convolves:
        return None
    shape, w_shape, axis = SHAPES[op]
    axis = 1 - axis if weights == "another axis" else axis
    zero, x_scale = CODES[codes]
    m = Model(shape, opset, real)
    x = m.node("Cast", ["x"], to=10) if half else "x"
    x = m.pair(x, x_scale, zero)
    step = LARGE / (factor * (65504.0 if half else 2.0**31))
    scales = np.full(CHANNELS, 0.004)
    if weights == "each" or weights == "computed by Q":
        scales[CHANNEL] = step / x_scale
    else:
        scales[:] = step / x_scale
    w_codes = random.integers(-127, 128, w_shape).astype(np.int8)
    along = scales.reshape([-1 if a == axis else 1 for a in range(len(w_shape))])
    zeros = np.zeros(CHANNELS, np.int8)
    if weights == "float":
        w_codes.flat[0] = 127
        w = m.constant(w_codes * scales[0], real)
    elif weights == "computed by Q":
        stored = m.node("QuantizeLinear", [m.constant(w_codes * along, real), m.constant(scales, real), m.constant(zeros)], axis=axis)
        w = m.dequantize(stored, scales, zeros, axis=axis)
    elif weights == "one":
        w = m.dequantize(m.constant(w_codes), scales[0], np.int8(0))
    else:
        w = m.dequantize(m.constant(w_codes), scales, zeros, axis=axis)
    bias = m.constant([0.3, -0.2, LARGE, 0.4], real)
    if kind == "MatMul":
        y = m.node("Add", [m.node("MatMul", [x, w]), bias])
    else:
        y = m.node(kind, [x, w, bias], **({"transB": 1} if op.endswith("transB") else {}))
    lone = y
    for name in behind.split():
        if name == "Clip":
            y = m.node("Clip", [y, m.constant(0, real), m.constant(6, real)])
        elif name == "MaxPool":
            y = m.node("MaxPool", [y], kernel_shape=[2, 2])
        elif name == "Transpose":
            y = m.node("Transpose", [y], perm=list(range(len(shape)))[::-1])
        elif name in ("Relu", "LeakyRelu"):
            y = m.node(name, [y])
        elif name == "Q":
            y = m.pair(y, x_scale, zero)
    if behind.endswith("Neg"):
        y = m.node("Add", [y, m.node("Neg", [lone])])
    return m, m.node("Cast", [y], to=1) if half else y


def faults(m, output, path, random):
    """Whether the bias is lost, and what is wrong."""
    m.save(path, output)
    x = random.normal(0, 1, m.shape).astype(np.float32)
    said, error = onnxruntime_runs(path, x)
    optimized, worse = onnxruntime_runs(path, x, path.with_suffix(".optimized"))
    if error or worse:
        return False, [f"ONNX Runtime: {error or worse}"]
    near = lambda y: y is not None and np.allclose(y, said, atol=0.1)
    lost, found = not near(optimized), "bias-range" in findings(path)
    if lost != found:
        return lost, [f"ONNX Runtime {'loses' if lost else 'keeps'} the bias, check says {found}"]
    if not lost:
        return lost, []
    fixed = path.with_suffix(".fixed.onnx")
    mended = octet("repair", path, "--target", "onnxruntime", "-o", fixed, "--force")
    if mended.returncode != 0:
        return lost, [f"repair: {mended.stdout}{mended.stderr}"]
    is_now, error = onnxruntime_runs(fixed, x, path.with_suffix(".optimized"))
    return lost, [] if near(is_now) else [f"not mended: {error or np.abs(is_now - said).max()}"]


def main():
    random = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
    every = list(itertools.product(SHAPES, CODES, (np.float32, np.float16), WEIGHTS, BEHIND, FACTORS, (17, 21)))
    counts, found = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for i in random.permutation(len(every))[:1200]:
            made = layer(*every[i], random)
            if made is None:
                continue
            lost, wrong = faults(*made, path, random)
            counts[lost] += 1
            found += [f"{' '.join(getattr(word, '__name__', str(word)) for word in every[i])}: {w}" for w in wrong]
    print(f"{counts.total()} files, {counts[True]} that lose a bias, {len(found)} faults")
    print("\n".join(found[:60]))
    sys.exit(1 if found or counts[True] < 100 or counts[False] < 100 else 0)


main()
