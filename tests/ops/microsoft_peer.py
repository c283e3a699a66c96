# SPDX-License-Identifier: Apache-2.0
"""The com.microsoft operators of octet's executors against ONNX Runtime, on random models of one node each: floats
within 1e-4, codes within one step (ONNX Runtime computes some of them from rounded tables)."""
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
    yield "EmbedLayerNormalization", {"epsilon": 1e-5, "outputs": 2}, [ids, segments, *tables, gamma, beta, mask]
    yield "EmbedLayerNormalization", {"epsilon": 1e-5, "outputs": 2}, [ids, None, *tables[:2], None, gamma, beta]
    w, b = f32(8, 24), f32(24)
    for causal in (0, 1):
        heads = {"num_heads": 2, "unidirectional": causal}
        yield "Attention", heads, [x, w, b]
        yield "Attention", heads, [x, w, b, mask]
        yield "Attention", heads, [x, w, b, np.array([3, 5], np.int32)]
    for stand_in in ([[0]], [[0], [1]]):  # which masks nothing
        yield "Attention", {"num_heads": 2}, [x, w, b, np.array(stand_in, np.int32)]
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
            plain = {"hidden_size": 4, "direction": way, "outputs": 3}
            yield "DynamicQuantizeLSTM", plain, [
                f32(5, 3, 6), w, r, f32(directions, 32), None, None, None, None, whole, zeros, whole, zeros]
            yield "DynamicQuantizeLSTM", {**plain, "clip": 0.7}, [
                f32(5, 1, 6), w, r, None, np.array([4], np.int32), f32(directions, 1, 4), f32(directions, 1, 4),
                f32(directions, 12), columns, column_zeros, columns, column_zeros]
            yield "DynamicQuantizeLSTM", {**plain, "activations": ["HardSigmoid", "Relu", "Tanh"] * directions}, [
                f32(4, 2, 6), w, r, f32(directions, 32), None, None, None, None, columns, column_zeros, whole, zeros]


def rotary_cases():
    x, cos, sin = f32(2, 3, 16), f32(10, 4), f32(10, 4)
    places, first = np.array([[0, 1, 2], [5, 3, 1]], np.int64), np.array([4], np.int64)
    for interleaved in (0, 1):
        kind = {"interleaved": interleaved}
        yield "RotaryEmbedding", kind, [x, places, cos, sin]
        yield "RotaryEmbedding", kind, [x, first, cos, sin]
        yield "RotaryEmbedding", kind, [x.reshape(2, 3, 2, 8).transpose(0, 2, 1, 3).copy(), places, cos, sin]
        yield "RotaryEmbedding", kind, [x.reshape(2, 3, 2, 8).transpose(0, 2, 1, 3).copy(), first, cos, sin]
        yield "RotaryEmbedding", {**kind, "num_heads": 2, "rotary_embedding_dim": 4}, [
            x, places, cos[:, :2].copy(), sin[:, :2].copy()]


def multi_head_cases():
    q, k, v = f32(2, 3, 8), f32(2, 4, 8), f32(2, 4, 6)
    heads = {"num_heads": 2}
    lengths, padding = np.array([2, 4], np.int32), np.array([[1, 0, 1, 0], [1, 1, 1, 1]], np.int32)
    yield "MultiHeadAttention", heads, [q, k, v]
    yield "MultiHeadAttention", {**heads, "scale": 0.3}, [q, k, v, f32(22), None, f32(1, 2, 3, 4)]
    yield "MultiHeadAttention", heads, [q, k, v, None, lengths]
    yield "MultiHeadAttention", heads, [q, k, v, None, np.array([2, 4, 0, 3, 6, 0, 4, 8], np.int32)]
    yield "MultiHeadAttention", {**heads, "mask_filter_value": -3.0}, [q, k, v, None, padding]
    some = (f32(2, 3, 4) > 0).astype(np.int32)
    some[..., 0] = 1  # of rows without any, sums with -10000 tell little
    yield "MultiHeadAttention", heads, [q, k, v, None, some]
    yield "MultiHeadAttention", heads, [q, f32(2, 2, 4, 4), f32(2, 2, 4, 4)]
    k, v, past = f32(2, 3, 8), f32(2, 3, 8), [f32(2, 2, 5, 4), f32(2, 2, 5, 4)]
    for causal in (0, 1):
        more = {**heads, "unidirectional": causal}
        yield "MultiHeadAttention", more, [q, k, v]
        yield "MultiHeadAttention", {**more, "outputs": 3}, [q, k, v, f32(24), None, None, *past]
        yield "MultiHeadAttention", {**more, "outputs": 3}, [
            q, k, v, None, (f32(2, 8) > -1).astype(np.int32), f32(2, 1, 3, 8), *past]


def group_query_cases():
    """Prompts, chunks and single steps: (rows, steps, past, index of the last step in each row, most steps)."""
    heads = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3}
    caches = [f32(32, 8), f32(32, 8)]

    def case(rows, steps, past, last, total, attributes, more=(), packed=False):
        q, k, v = f32(rows, steps, 64), f32(rows, steps, 32), f32(rows, steps, 32)
        head = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
        kept = [None, None] if past is None else [f32(rows, 2, past, 16), f32(rows, 2, past, 16)]
        return "GroupQueryAttention", {**heads, **attributes}, [
            *head, *kept, np.array(last, np.int32), np.array([total], np.int32), *more]

    for attributes, more in [({}, ()), ({"do_rotary": 1}, caches), ({"do_rotary": 1, "rotary_interleaved": 1}, caches),
                             ({"local_window_size": 2}, ()), ({"softcap": 0.5}, ()), ({"smooth_softmax": 1}, ()),
                             ({"scale": 0.2}, ()), ({}, [None] * 4 + [f32(4)])]:
        yield case(2, 3, None, [2, 2], 3, attributes, more)
        yield case(2, 3, 0, [2, 1], 3, attributes, more)
        yield case(2, 1, 5, [5, 3], 6, attributes, more)
        yield case(1, 2, 9, [6], 7, attributes, more)
        yield case(1, 4, 5, [8], 9, attributes, more, packed=True)
    yield case(1, 3, 4, [6], 7, {"softcap": 0.5}, [None] * 3 + [f32(1, 4, 3, 7)])
    yield case(1, 3, 0, [2], 3, {"causal": 0})
    places = np.array([[7, 3, 9]], np.int64)
    yield case(1, 3, 4, [6], 7, {"do_rotary": 1}, [*caches, places])
    yield case(1, 3, 0, [2], 3, {"do_rotary": 1}, [*caches, places])
    yield case(2, 3, 0, [2, 2], 3, {"do_rotary": 1}, [*caches, np.array([[7, 3, 9], [2, 2, 2]], np.int64)])


def block_product_cases():
    n, k = 5, 40
    for bits in (2, 4, 8):
        for block in (16, 32):
            blocks = -(-k // block)
            a, scales = f32(2, 3, k), np.abs(f32(n, blocks)) * np.float32(0.05)
            packed = rng.integers(0, 256, size=(n, blocks, block * bits // 8)).astype(np.uint8)
            zeros = rng.integers(0, 256, size=(n, -(-blocks * bits // 8))).astype(np.uint8)
            sizes = {"N": n, "K": k, "bits": bits, "block_size": block}
            yield "MatMulNBits", sizes, [a, packed, scales]
            yield "MatMulNBits", sizes, [a, packed, scales, zeros, None, f32(n)]
            if bits < 8:
                yield "MatMulNBits", sizes, [a, packed, scales, f32(n, blocks)]
            if bits == 4:
                groups = rng.integers(0, blocks, size=k).astype(np.int32)
                yield "MatMulNBits", sizes, [a, packed, scales, None, groups]


def fused_cases():
    x, w, b, z = f32(2, 3, 6, 6), f32(4, 3, 3, 3), f32(4), f32(2, 4, 6, 6)
    for kind, parameters in [("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]),
                             ("HardSigmoid", [0.3, 0.4])]:
        more = {"activation": kind, **({"activation_params": parameters} if parameters else {})}
        yield "FusedConv", {"pads": [1] * 4, **more}, [x, w, b]
        yield "FusedConv", {"strides": [2, 2], "dilations": [1, 2], **more}, [x, w]
    yield "FusedConv", {"pads": [1] * 4, "activation": "Relu"}, [x, w, b, z]
    a, m, c = f32(3, 8), f32(5, 8), f32(5)
    for kind, parameters in [("Relu", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": 0.2}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})]:
        yield "FusedGemm", {"transB": 1, "alpha": 0.5, "activation": kind, **parameters}, [a, m, c]
        yield "FusedGemm", {"transB": 1, "activation": kind, **parameters}, [a, m]


def simplified_cases():
    x, gain = f32(2, 3, 16), f32(16)
    yield "QuickGelu", {}, [x]
    yield "QuickGelu", {"alpha": 0.5}, [x * 100]
    yield "SimplifiedLayerNormalization", {"epsilon": 1e-3, "domain": ""}, [x, gain]
    yield "SimplifiedLayerNormalization", {"axis": 1, "domain": "", "outputs": 2}, [x, f32(3, 16)]
    yield "SkipSimplifiedLayerNormalization", {"epsilon": 1e-3}, [x, f32(2, 3, 16), gain]
    for outputs in ("o0  o2", "o0   o3"):
        yield "SkipSimplifiedLayerNormalization", {"epsilon": 1e-3, "outputs": outputs}, [
            x, f32(2, 3, 16), gain, f32(16)]


def model_of(op, attributes, inputs):
    """Weights and the like are constants, the first input is the graph's. Of the attributes, `domain` and `outputs`
    (how many, or their names) are the node's."""
    attributes = {"outputs": 1, "domain": "com.microsoft", **attributes}
    outputs, domain = attributes.pop("outputs"), attributes.pop("domain")
    names = ["" if v is None else f"i{k}" for k, v in enumerate(inputs)]
    made = outputs.split(" ") if isinstance(outputs, str) else [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, made, domain=domain, **attributes)
    graph = helper.make_graph(
        [node], op,
        [helper.make_tensor_value_info("i0", helper.np_dtype_to_tensor_dtype(inputs[0].dtype), inputs[0].shape)],
        [helper.make_value_info(name, onnx.TypeProto()) for name in made if name],
        [onnx.numpy_helper.from_array(v, f"i{k}") for k, v in enumerate(inputs) if k > 0 and v is not None])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run_octet(model, x, folder, executor):
    onnx.save(model, folder / "m.onnx")
    np.save(folder / "x.npy", x)
    (folder / "y.npz").unlink(missing_ok=True)
    command = [OCTET, "run", folder / "m.onnx", "--input", f"i0={folder / 'x.npy'}", "--executor", executor, "-o",
               folder / "y.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "y.npz")


def main():
    cases = [c for d in (np.uint8, np.int8) for c in qlinear_cases(d)]
    cases += [*product_cases(), *float_cases(), *recurrent_cases()]
    twice = [*rotary_cases(), *multi_head_cases(), *group_query_cases(), *block_product_cases(), *fused_cases(),
             *simplified_cases()]
    cases = [(*c, ["reference"]) for c in cases] + [(*c, ["reference", "native"]) for c in twice]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # more of them quantize parts of a batch by themselves
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, (op, attributes, inputs, executors) in enumerate(cases):
            model = model_of(op, attributes, inputs)
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            want = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"i0": inputs[0]})))
            for executor in executors:
                try:
                    got = run_octet(model, inputs[0], folder, executor)
                    for name, expected in want.items():
                        found = got[name]
                        assert found.shape == expected.shape and found.dtype == expected.dtype, (
                            name, found.shape, found.dtype, expected.shape)
                        if expected.dtype == np.float32:
                            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
                        else:
                            step = np.abs(found.astype(int) - expected.astype(int)).max()
                            assert step <= 1, f"{step} steps apart"
                except AssertionError as e:
                    failures.append(f"{number} {op} {attributes} {inputs[0].dtype} {executor}: {str(e)[:400]}")
    print("\n".join(failures))
    print(f"{len(failures)} differences in {len(cases)} cases")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
