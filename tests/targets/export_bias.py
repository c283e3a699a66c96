# SPDX-License-Identifier: Apache-2.0
"""Biases behind DQ with scales, zero points and shapes of all kinds, and alpha and beta of Gemm: octet's executors, and
ONNX Runtime with octet's exports, give what NumPy computes in float64; check refuses exactly the files of which ONNX
Runtime computes other numbers once it has optimized them, repair mends those, and explain names the operator that runs."""
import itertools
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from qdq import Model, exported, findings, octet, octet_runs, onnxruntime_runs, operators

random = np.random.default_rng(3)
ROWS, DEPTH, COLUMNS = 4, 3, 5
X_SCALE, X_ZERO, Y_SCALE, Y_ZERO = 0.02, 117, 0.05, 100
CHANNELS = {"one": np.float32(0.01), "each": np.array([0.01, 0.02, 0.08, 0.005, 0.04], np.float32),
            "equal": np.full(COLUMNS, 0.01, np.float32)}


def biases(steps):
    """Title: scale and zero point; the scale is one, or one for each column."""
    each = np.broadcast_to(steps, COLUMNS).astype(np.float32)
    yield "fits", steps.astype(np.float32), None
    yield "zero points 0", each, np.zeros(COLUMNS, np.int32)
    yield "of channel 0", each[0], np.int32(0)
    yield "zero points", each, np.arange(300, 300 + COLUMNS, dtype=np.int32)
    yield "twice", each * 2, np.zeros(COLUMNS, np.int32)
    yield "odd", each * np.float32(1.37), np.zeros(COLUMNS, np.int32)
    yield "float", None, None


class Layer:
    """A Conv of one pixel or a Gemm, Q behind it or none; `value` is what it gives of x in float64."""

    def __init__(self, op, channels, scale, zero, shape=(COLUMNS,), quantized=True, **attributes):
        self.op, self.quantized, self.float_bias = op, quantized, scale is None
        conv = op == "Conv"
        m = Model([2, DEPTH, 2, 2] if conv else [ROWS, DEPTH])
        # Products of uint8 and larger int8 saturate on processors that lack VNNI.
        w = random.integers(-63, 64, (COLUMNS, DEPTH)).astype(np.int8)
        codes = random.integers(-900, 900, shape).astype(np.int32)
        x = m.pair("x", X_SCALE, np.uint8(X_ZERO))
        zeros = np.zeros(np.shape(channels), np.int8)
        rows = conv or attributes.get("transB")
        along = {"axis": 0 if rows else 1} if np.ndim(channels) else {}
        stored = w[:, :, None, None] if conv else w if rows else np.ascontiguousarray(w.T)
        wd = m.dequantize(m.constant(stored), channels, zeros, **along)
        if self.float_bias:
            self.bias = (codes * 0.001).astype(np.float32).astype(np.float64)
            inputs = [x, wd, m.constant(self.bias, np.float32)]
        else:
            along = {"axis": len(shape) - 1} if np.ndim(scale) else {}
            inputs = [x, wd, m.dequantize(m.constant(codes), scale, zero, **along)]
            self.bias = (codes - np.float64(0 if zero is None else zero)) * np.float64(scale)
        y = m.node(op, inputs, **attributes)
        self.model, self.output = m, m.pair(y, Y_SCALE, np.uint8(Y_ZERO)) if quantized else y
        self.alpha, self.beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
        self.weights = w * np.float64(np.broadcast_to(np.float64(channels), COLUMNS)[:, None])
        # A float bias may become the nearest whole steps of the sum.
        self.step = abs(self.alpha) * X_SCALE * np.max(channels)

    def value(self, x):
        x = np.float64(x)
        codes = np.clip(np.rint(np.float32(x) / np.float32(X_SCALE)) + X_ZERO, 0, 255) - X_ZERO
        real = codes * np.float64(np.float32(X_SCALE))
        if self.op == "Conv":
            return np.einsum("nkhw,ck->nchw", real, self.weights) + self.bias[None, :, None, None]
        return self.alpha * real @ self.weights.T + self.beta * self.bias

    def is_right(self, y, x, may_round=False):
        want = self.value(x)
        slack = self.step / 2 if may_round and self.float_bias else 0
        if not self.quantized:
            return np.allclose(y, want, rtol=1e-5, atol=1e-5 + slack)
        scale = np.float64(np.float32(Y_SCALE))
        lowest, highest = -Y_ZERO * scale, (255 - Y_ZERO) * scale
        # The nearest code, or at a tie the other one: kernels multiply by float reciprocals.
        return bool(np.all(np.abs(y - np.clip(want, lowest, highest)) <= scale * (0.5 + 5e-3) + slack))


def grid():
    for kind, channels in CHANNELS.items():
        for title, scale, zero in biases(np.float64(np.float32(X_SCALE)) * np.float64(channels)):
            yield f"Conv {kind} {title}", Layer("Conv", channels, scale, zero)
            for trans, quantized in ((1, True), (0, False)):
                yield (f"Gemm {kind} {title} transB={trans} Q={quantized}",
                       Layer("Gemm", channels, scale, zero, quantized=quantized, transB=trans))
    each = CHANNELS["each"]
    steps = (np.float64(np.float32(X_SCALE)) * each).astype(np.float32)
    for (alpha, beta), scale in itertools.product(((0.5, 1.0), (2.0, 1.0), (1.0, 0.5), (-1.0, 1.0), (0.5, 0.5)), (steps, None)):
        zero = None if scale is None else np.zeros(COLUMNS, np.int32)
        yield f"Gemm alpha={alpha} beta={beta} float={scale is None}", Layer("Gemm", each, scale, zero, alpha=alpha, beta=beta)
    for shape in ((1, COLUMNS), (ROWS, COLUMNS)):
        yield f"Gemm bias {shape}", Layer("Gemm", each, steps, np.zeros(COLUMNS, np.int32), shape)
    for channels, shape in itertools.product((CHANNELS["one"], CHANNELS["equal"], each), ((), (1,), (ROWS, 1))):
        yield f"Gemm one bias {shape} of {np.shape(channels)}", Layer("Gemm", channels, steps[0], np.int32(700), shape)


def optimized_faults(layer, path, x):
    """What ONNX Runtime computes with its optimizations against what check, explain and repair say."""
    optimized = path.with_suffix(".optimized")
    y, error = onnxruntime_runs(path, x, optimized)
    if error:
        return [f"ONNX Runtime: {error}"]
    out, rules = [], findings(path)
    right = layer.is_right(y, x, may_round=True)
    if right == ("bias-scale" in rules):
        out.append(f"ONNX Runtime is {'right' if right else 'wrong'}, check: {rules}")
    form = next(op for op in operators(optimized) if op in ("QLinearConv", "QGemm", "Conv", "Gemm", "FusedConv", "FusedGemm"))
    layers = json.loads(octet("explain", path, "--target", "onnxruntime", "--json").stdout)["onnxruntime"]["layers"]
    said = next(l["form"] for l in layers if l["node"].startswith(layer.op + "_"))
    if said != form:
        out.append(f"explain says {said}, ONNX Runtime has {form}")
    if not right:
        fixed = path.with_suffix(".fixed.onnx")
        mended = octet("repair", path, "--target", "onnxruntime", "-o", fixed, "--force")
        y, error = onnxruntime_runs(fixed, x, optimized) if mended.returncode == 0 else (None, mended.stderr)
        layer.float_bias = True  # which it rounds to whole steps by itself
        if error or not layer.is_right(y, x, may_round=True):
            out.append(f"not mended: {error or 'other values'}")
    return out


def faults(layer, path):
    layer.model.save(path, layer.output)
    x = random.normal(0, 1, layer.model.shape).astype(np.float32)
    runs = {"ONNX Runtime": onnxruntime_runs(path, x)}
    runs |= {f"octet {e}": octet_runs(path, x, e) for e in ("native", "reference")}
    for form in ("qoperator", "fused"):
        file = exported(path, form)
        runs |= {f"{form} in ONNX Runtime": onnxruntime_runs(file, x), f"{form} native": octet_runs(file, x, "native")}
    out = [f"{what}: {error or 'other values'}" for what, (y, error) in runs.items()
           if error or not layer.is_right(y, x, may_round=what.startswith(("qoperator", "fused")))]
    return out + optimized_faults(layer, path, x)


def main():
    found, count, on_codes = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for title, layer in grid():
            count += 1
            found += [f"{title}: {fault}" for fault in faults(layer, path)]
            on_codes += any(op in ("QLinearConv", "QGemm") for op in operators(path.with_suffix(".qoperator.onnx")))
    print(f"{count} files, {on_codes} of them on codes when exported, {len(found)} faults")
    print("\n".join(found[:60]))
    sys.exit(1 if found or on_codes < count // 2 else 0)


main()
