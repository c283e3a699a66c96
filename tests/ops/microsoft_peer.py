# SPDX-License-Identifier: Apache-2.0
"""The com.microsoft operators of octet's reference executor against ONNX Runtime, on random models of one node each:
floats within 1e-4, codes within one step (ONNX Runtime computes some of them from rounded tables)."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
rng = np.random.default_rng(5)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


def codes(dtype, *shape):
    low, high = (0, 256) if dtype == np.uint8 else (-128, 128)
    return rng.integers(low, high, size=shape).astype(dtype)


def weights(dtype, *shape):
    """Small enough that ONNX Runtime's kernels for CPUs without VNNI do not saturate."""
    return (rng.integers(-64, 64, size=shape) + (128 if dtype == np.uint8 else 0)).astype(dtype)


def scale(value):
    return np.array(value, np.float32)


def zero(dtype, value):
    return np.array(value + (128 if dtype == np.uint8 else 0), dtype)


def qlinear_cases(d):
    x, s, z = codes(d, 2, 4, 6, 5), scale(0.03), zero(d, 3)
    for op in ("QLinearAdd", "QLinearMul"):
        yield op, {}, [x, s, z, codes(d, 4, 1, 5), scale(0.02), zero(d, -7), scale(0.05), zero(d, 1)]
        yield op, {}, [x, s, z, codes(d, 2, 4, 6, 5), scale(0.02), zero(d, -7), scale(0.05), zero(d, 1)]
    yield "QLinearSigmoid", {}, [x, s, z, scale(1 / 256), zero(d, -128)]
    yield "QLinearLeakyRelu", {"alpha": 0.2}, [x, s, z, scale(0.02), zero(d, -40)]
    yield "QLinearSoftmax", {"axis": -1, "opset": 13}, [x, s, z, scale(1 / 256), zero(d, -128)]
    yield "QLinearSoftmax", {"axis": 2, "opset": 12}, [x, s, z, scale(1 / 256), zero(d, -128)]
    yield "QLinearConcat", {"axis": 1}, [
        scale(0.04), zero(d, 2), x, s, z, codes(d, 2, 3, 6, 5), scale(0.05), zero(d, 0)]
    yield "QLinearWhere", {}, [
        rng.integers(0, 2, size=(6, 5)).astype(bool), x, s, z, codes(d, 2, 4, 6, 5), scale(0.05), zero(d, 1),
        scale(0.04), zero(d, 0)]
    pool = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    yield "QLinearAveragePool", pool, [x, s, z, scale(0.03), zero(d, 3)]
    yield "QLinearAveragePool", {**pool, "count_include_pad": 1}, [x, s, z, scale(0.02), zero(d, 0)]
    yield "QLinearGlobalAveragePool", {"channels_last": 0}, [x, s, z, scale(0.01), zero(d, 0)]
    if d == np.uint8:
        yield "QLinearAveragePool", {**pool, "channels_last": 1}, [x, s, z, scale(0.03), zero(d, 3)]
        yield "QLinearGlobalAveragePool", {"channels_last": 1}, [x, s, z, scale(0.01), zero(d, 0)]


def product_cases():
    u, i = np.uint8, np.int8
    a, b, bias = codes(u, 2, 3, 8), weights(i, 8, 5), f32(5)
    columns = np.abs(f32(5)) * np.float32(0.01)
    yield "MatMulIntegerToFloat", {}, [a, b, scale(0.02), columns, zero(u, 4), np.zeros(5, i), bias]
    yield "MatMulIntegerToFloat", {}, [a, b, scale(0.02), scale(0.01), zero(u, 4), zero(i, 0)]
    yield "DynamicQuantizeMatMul", {}, [f32(2, 3, 8), b, columns, np.zeros(5, i), bias]
    yield "DynamicQuantizeMatMul", {}, [f32(3, 8), b, scale(0.01)]
    yield "FusedMatMul", {"alpha": 0.5, "transA": 1}, [f32(2, 8, 3), f32(2, 8, 5)]
    yield "FusedMatMul", {"transB": 1}, [f32(2, 4, 3, 8), f32(5, 8)]
    yield "FusedMatMul", {"transBatchA": 1, "transBatchB": 1, "transB": 1}, [f32(3, 2, 8), f32(5, 2, 8)]
    m = codes(u, 3, 8)
    c = rng.integers(-900, 900, size=5).astype(np.int32)
    yield "QGemm", {"alpha": 0.7}, [m, scale(0.02), zero(u, 4), b, columns, np.zeros(5, i), c]
    yield "QGemm", {"transB": 1}, [
        m, scale(0.02), zero(u, 4), weights(i, 5, 8), scale(0.01), zero(i, 0), c, scale(0.05), zero(u, 0)]


def float_cases():
    x = f32(2, 5, 8)
    yield "Gelu", {}, [x]
    yield "BiasGelu", {}, [x, f32(8)]
    yield "FastGelu", {}, [x]
    yield "FastGelu", {}, [x, f32(8)]
    gamma, beta, bias = f32(8), f32(8), f32(8)
    yield "SkipLayerNormalization", {"epsilon": 1e-5}, [x, f32(2, 5, 8), gamma, beta, bias]
    yield "SkipLayerNormalization", {"epsilon": 1e-5}, [x, f32(2, 5, 8), gamma]
    ids = rng.integers(0, 20, size=(2, 5)).astype(np.int32)
    segments = rng.integers(0, 2, size=(2, 5)).astype(np.int32)
    tables = [f32(20, 8), f32(7, 8), f32(2, 8)]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    yield "EmbedLayerNormalization", {"epsilon": 1e-5}, [ids, segments, *tables, gamma, beta, mask]
    yield "EmbedLayerNormalization", {"epsilon": 1e-5}, [ids, None, *tables[:2], None, gamma, beta]
    w, b = f32(8, 24), f32(24)
    for causal in (0, 1):
        heads = {"num_heads": 2, "unidirectional": causal}
        yield "Attention", heads, [x, w, b]
        yield "Attention", heads, [x, w, b, mask]
        yield "Attention", heads, [x, w, b, np.array([3, 5], np.int32)]
    yield "Attention", {"num_heads": 2}, [x, w, b, np.array([3, 5, 1, 0], np.int32)]
    yield "Attention", {"num_heads": 2, "scale": 0.3}, [x, w, b, None, None, f32(2, 2, 5, 5)]
    yield "Attention", {"num_heads": 2, "qkv_hidden_sizes": [4, 4, 16]}, [x, w, b]
    for d in (np.uint8, np.int8):
        qx, qw = codes(np.uint8, 2, 5, 8), weights(d, 8, 24)
        yield "QAttention", {"num_heads": 2}, [
            qx, qw, b, scale(0.02), scale(0.01), mask, zero(np.uint8, 5), zero(d, 0)]


def recurrent_cases():
    for d in (np.uint8, np.int8):
        for way, directions in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            w, r = weights(d, directions, 6, 16), weights(d, directions, 4, 16)
            whole, zeros = scale([0.01] * directions), np.full(directions, zero(d, 0), d)
            columns = (0.005 + 0.005 * rng.random((directions, 16))).astype(np.float32)
            column_zeros = np.full((directions, 16), zero(d, 0), d)
            plain = {"hidden_size": 4, "direction": way}
            yield "DynamicQuantizeLSTM", plain, [
                f32(5, 3, 6), w, r, f32(directions, 32), None, None, None, None, whole, zeros, whole, zeros]
            yield "DynamicQuantizeLSTM", {**plain, "clip": 0.7}, [
                f32(5, 1, 6), w, r, None, np.array([4], np.int32), f32(directions, 1, 4), f32(directions, 1, 4),
                f32(directions, 12), columns, column_zeros, columns, column_zeros]
            yield "DynamicQuantizeLSTM", {**plain, "activations": ["HardSigmoid", "Relu", "Tanh"] * directions}, [
                f32(4, 2, 6), w, r, f32(directions, 32), None, None, None, None, columns, column_zeros, whole, zeros]


OUTPUTS = {"EmbedLayerNormalization": 2, "DynamicQuantizeLSTM": 3}


def model_of(op, attributes, inputs, outputs):
    """Weights and the like are constants, the first input is the graph's."""
    names = ["" if v is None else f"i{k}" for k, v in enumerate(inputs)]
    node = helper.make_node(op, names, [f"o{k}" for k in range(outputs)], domain="com.microsoft", **attributes)
    graph = helper.make_graph(
        [node], op,
        [helper.make_tensor_value_info("i0", helper.np_dtype_to_tensor_dtype(inputs[0].dtype), inputs[0].shape)],
        [helper.make_value_info(f"o{k}", onnx.TypeProto()) for k in range(outputs)],
        [onnx.numpy_helper.from_array(v, f"i{k}") for k, v in enumerate(inputs) if k > 0 and v is not None])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run_octet(model, x, folder):
    onnx.save(model, folder / "m.onnx")
    np.save(folder / "x.npy", x)
    (folder / "y.npz").unlink(missing_ok=True)
    command = [OCTET, "run", folder / "m.onnx", "--input", f"i0={folder / 'x.npy'}", "--executor", "reference", "-o",
               folder / "y.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "y.npz")


def main():
    cases = [c for d in (np.uint8, np.int8) for c in qlinear_cases(d)]
    cases += [*product_cases(), *float_cases(), *recurrent_cases()]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # more of them quantize parts of a batch by themselves
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, (op, attributes, inputs) in enumerate(cases):
            model = model_of(op, attributes, inputs, OUTPUTS.get(op, 1))
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            want = session.run(None, {"i0": inputs[0]})
            try:
                got = run_octet(model, inputs[0], folder)
                for k, expected in enumerate(want):
                    found = got[f"o{k}"]
                    assert found.shape == expected.shape and found.dtype == expected.dtype, (found.shape, found.dtype)
                    if expected.dtype == np.float32:
                        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
                    else:
                        step = np.abs(found.astype(int) - expected.astype(int)).max()
                        assert step <= 1, f"{step} steps apart"
            except AssertionError as e:
                failures.append(f"{number} {op} {attributes} {inputs[0].dtype}: {str(e)[:400]}")
    print("\n".join(failures))
    print(f"{len(cases) - len(failures)} of {len(cases)} cases agree with ONNX Runtime")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
