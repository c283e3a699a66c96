# SPDX-License-Identifier: Apache-2.0
"""Files of every number format beside others: codes are ml_dtypes' (all float16 and random float32) or NumPy's, ONNX's checker
takes the file, ONNX Runtime computes from it what octet does, and stored weights take their bits."""
import json
import math
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import ml_dtypes
import numpy as np
import onnx
import qdq
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(11)
FP8 = {"fp8-e4m3fn": (ml_dtypes.float8_e4m3fn, 448), "fp8-e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 240),
       "fp8-e5m2": (ml_dtypes.float8_e5m2, 57344), "fp8-e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 57344)}
K, N, M = 96, 64, 10


def network(path, k=K, n=N, m=M):
    """Two products with biases and a Relu between them; K does not divide by 64."""
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["h"], name="first"), helper.make_node("Add", ["h", "b1"], ["hb"], name="bias"),
             helper.make_node("Relu", ["hb"], ["r"], name="relu"),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], name="second", transB=1)]
    constants = {"w1": random.normal(size=(k, n)) / np.sqrt(k), "b1": random.normal(size=n), "w2": random.normal(size=(m, n)) / np.sqrt(n),
                 "b2": random.normal(size=m)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", k])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", m])],
                              [numpy_helper.from_array(v.astype(np.float32), name) for name, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def quantize(model, out, *words):
    done = qdq.octet("quantize", model, "-o", out, "--force", "--json", *words)
    assert done.returncode == 0, (words, done.stderr)
    onnx.checker.check_model(str(out), full_check=True)
    return json.loads(done.stdout)


def constants_of(path):
    return {c.name: numpy_helper.to_array(c) for c in onnx.load(path).graph.initializer}


def check_fp8_codes(folder):
    """Weights of all float16 within reach at scale 1, and of random float32 with a scale for each channel."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    for name, (dtype, most) in FP8.items():
        kept = halves[np.isfinite(halves) & (np.abs(halves) <= most)]
        kept = np.append(kept, np.zeros(-len(kept) % 64, np.float32)).reshape(-1, 64)
        assert np.abs(kept).max() == most
        spread = (random.normal(size=(200, 64)) * 2.0 ** random.integers(-12, 12, size=(200, 64))).astype(np.float32)
        for weights, words in ((kept, ["--per-tensor"]), (spread, [])):
            graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="y")], "g",
                                      [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, len(weights)])],
                                      [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])],
                                      [numpy_helper.from_array(weights, "w")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "w.onnx")
            quantize(folder / "w.onnx", folder / "q.onnx", "--mode", "weight-only", "--weights", name, "--weight-calibrator", "min-max", *words)
            stored = constants_of(folder / "q.onnx")
            scale = np.abs(weights).max(axis=None if words else 0).astype(np.float64) / most
            assert np.array_equal(stored["w_scale"], scale.astype(np.float32)), name
            expected = (weights / stored["w_scale"]).astype(dtype)
            assert np.array_equal(stored["w_quantized"].view(np.uint8), expected.view(np.uint8)), name


ENOUGH = {2: 9, 4: 62}  # numbers of a block by bits


def integer_weights(w, bits, block):
    """Symmetric codes and scales of [K, N] in blocks of K; of fewer than 8 bits all codes are used, and of enough numbers the
    extreme may lie half a step beyond them where the squared error, of clipped ones three times, is smaller so."""
    most = 2 ** (bits - 1) - 1
    least = most + 1 if bits < 8 else most
    scales, codes = [], []
    for begin in range(0, len(w), block):
        part = w[begin:begin + block]
        top, bottom = (np.maximum(x, 0).max(axis=0).astype(np.float64) for x in (part, -part))
        tried = []
        for beyond in (0, 0.5) if len(part) >= ENOUGH.get(bits, math.inf) else (0,):
            ends = top * (most / (most + beyond)) / most, bottom * (least / (least + beyond)) / least
            s = np.maximum(*ends).astype(np.float32)
            exact = part / s
            c = np.clip(np.rint(exact), -least, most)
            clipped = (exact > most + 0.499) | (exact < -least - 0.499)
            squares = (part.astype(np.float64) - c.astype(np.float64) * s.astype(np.float64)) ** 2
            error = np.where(clipped, 3 * squares, squares).sum(axis=0)
            tried.append((s, c, error))
        better = tried[-1][2] < tried[0][2]
        scales.append(np.where(better, tried[-1][0], tried[0][0]))
        codes.append(np.where(better, tried[-1][1], tried[0][1]))
    return np.concatenate(codes), np.stack(scales)


def check_integer_codes(folder, model):
    w = constants_of(model)["w1"]
    for name, bits, block in (("int4/32", 4, 32), ("int4/64", 4, 64), ("int8/32", 8, 32), ("int2/32", 2, 32)):
        quantize(model, folder / "q.onnx", "--mode", "weight-only", "--weights", name)
        stored = constants_of(folder / "q.onnx")
        codes, scales = integer_weights(w, bits, block)
        assert np.array_equal(stored["w1_scale"], scales), name
        assert np.array_equal(stored["w1_quantized"].astype(np.float32), codes), name
        beyond = np.abs(w[:block]).max(axis=0) > scales[0] * (2 ** (bits - 1) + 0.01)
        assert beyond.any() == (block >= ENOUGH.get(bits, math.inf)), name


def check_small_floats(folder, model):
    """MX and NVFP4, by their definitions in NumPy."""
    w = constants_of(model)["w1"]
    for name, dtype, block, top in (("mxfp4", ml_dtypes.float4_e2m1fn, 32, 2), ("mxfp8-e4m3", ml_dtypes.float8_e4m3fn, 32, 8),
                                    ("nvfp4", ml_dtypes.float4_e2m1fn, 16, 2)):
        quantize(model, folder / "q.onnx", "--mode", "weight-only", "--weights", name)
        stored = constants_of(folder / "q.onnx")
        most = float(ml_dtypes.finfo(dtype).max)
        blocks = w.reshape(-1, block, N)
        amax = np.abs(blocks).max(axis=1).astype(np.float64)
        if name == "nvfp4":
            unit = np.float32(amax.max() / (most * 448))
            codes = (amax / most).astype(np.float32).astype(np.float64) / np.float64(unit)
            scale = codes.astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * unit
            assert stored["w1_scale"].dtype == ml_dtypes.float8_e4m3fn, stored["w1_scale"].dtype
            assert np.array_equal(stored["w1_scale"].astype(np.float32) * unit, scale)
        else:
            scale = np.exp2(np.floor(np.log2(amax)) - top).astype(np.float32)
            assert np.array_equal(stored["w1_scale"].astype(np.float32), scale), name
        expected = np.clip(blocks / scale[:, None], -most, most).astype(dtype).reshape(K, N)
        assert np.array_equal(stored["w1_quantized"].astype(np.float32), expected.astype(np.float32)), name
        x = random.normal(size=(3, K)).astype(np.float32)
        exact = x @ (expected.astype(np.float32).reshape(blocks.shape) * scale[:, None]).reshape(K, N)
        hidden = np.maximum(exact + stored["b1"], 0)
        ours, problem = qdq.octet_runs(folder / "q.onnx", x, "native")
        assert problem is None, problem
        w2 = values_of_second(stored, name, most)
        assert np.allclose(ours, hidden @ w2.T + stored["b2"], rtol=1e-4, atol=1e-4), name


def values_of_second(stored, name, most):
    scale = stored["w2_scale"].astype(np.float32)
    if name == "nvfp4":
        scale = scale * stored["w2_scale_scale"]
    codes = stored["w2_quantized"].astype(np.float32)
    return codes * np.repeat(scale, len(codes[0]) // len(scale[0]), axis=1)


def near(a, b, bound):
    return np.abs(a - b).max() <= bound * np.abs(b).max()


def check_runs(folder, model):
    """What ONNX Runtime makes of the files is what octet does. Codes of activations may differ near ties, where sums differ."""
    x = random.normal(size=(50, K)).astype(np.float32)
    np.savez(folder / "data.npz", x=x)
    exact, problem = qdq.onnxruntime_runs(model, x)
    assert problem is None, problem
    data = ["--data", f"npz:{folder / 'data.npz'}"]
    for words, error, bound in ((["--mode", "weight-only", "--weights", "int4/32"], 0.2, 1e-5),
                                (["--mode", "weight-only", "--weights", "int4"], 0.3, 1e-5),
                                (["--mode", "weight-only", "--weights", "uint4/32"], 0.2, 1e-5),
                                (["--mode", "weight-only", "--weights", "int8/64"], 0.02, 1e-5),
                                (["--mode", "weight-only", "--weights", "fp8-e4m3fn"], 0.1, 1e-5),
                                (["--weights", "fp8-e4m3fn", "--activations", "fp8-e4m3fn", *data], 0.15, 0.02),
                                (["--weights", "fp8-e4m3fnuz", "--activations", "fp8-e4m3fnuz", *data], 0.15, 0.02),
                                (["--weights", "fp8-e5m2", "--activations", "fp8-e5m2"], 0.2, 0.05),  # scale 1: nothing to observe
                                (["--weights", "fp8-e5m2fnuz", "--activations", "fp8-e5m2fnuz", *data], 0.2, 0.05),
                                (["--weights", "fp8-e5m2", "--activations", "fp8-e4m3fn", *data], 0.2, 0.02),
                                (["--weights", "int4/32", "--activations", "fp8-e4m3fn", *data], 0.3, 0.02),
                                (["--activations", "int16", *data], 0.02, 1e-3),
                                (["--activations", "uint16", *data], 0.02, 1e-3)):
        out = folder / "q.onnx"
        quantize(model, out, "--target", "onnxruntime", *words)
        theirs, problem = qdq.onnxruntime_runs(out, x)
        assert problem is None, (words, problem)
        assert near(theirs, exact, error), (words, np.abs(theirs - exact).max() / np.abs(exact).max())
        for executor in ("reference", "native"):
            ours, problem = qdq.octet_runs(out, x, executor)
            assert problem is None, (words, problem)
            assert near(ours, theirs, bound), (words, executor, np.abs(ours - theirs).max() / np.abs(theirs).max())
            assert np.mean(np.abs(ours - theirs) <= 1e-5 * np.abs(theirs).max()) > 0.8, (words, executor)


def check_sizes(folder):
    model = folder / "large.onnx"
    network(model, 768, 768, 768)
    whole = model.stat().st_size
    for name, share in (("int4/32", (4 + 32 / 32 + 4 / 32) / 32), ("int4", 4 / 32), ("int2/64", (2 + 32 / 64 + 2 / 64) / 32), ("fp8-e4m3fn", 8 / 32)):
        quantize(model, folder / "q.onnx", "--mode", "weight-only", "--weights", name)
        assert (folder / "q.onnx").stat().st_size < (share + 0.01) * whole, (name, (folder / "q.onnx").stat().st_size / whole)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "float.onnx"
        network(model)
        check_fp8_codes(folder)
        check_integer_codes(folder, model)
        check_small_floats(folder, model)
        check_runs(folder, model)
        check_sizes(folder)
    return 0


sys.exit(main())
