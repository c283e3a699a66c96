# SPDX-License-Identifier: Apache-2.0
"""Products with stored weights against ONNX Runtime, and where it does not run a type against ONNX's reference: random
models of one product, codes of 2 to 8 bits and FP8, with one scale, one a channel and in blocks; FP8 activations."""
import os
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
rng = np.random.default_rng(7)
INTEGERS = [np.int8, np.uint8, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2]
FLOATS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz]


def codes(dtype, shape):
    if dtype in FLOATS:
        return (20 * rng.normal(size=shape)).astype(np.float32).astype(dtype)
    info = ml_dtypes.iinfo(dtype)
    return rng.integers(int(info.min), int(info.max) + 1, shape).astype(np.int32).astype(dtype)


def model_of(dtype, kind, gemm, block, activations):
    k, n = 37, 19
    along = 1 if gemm else 0
    shape = (n, k) if gemm else (k, n)
    scales, attributes = (), {}
    if kind == "channel":
        scales, attributes = (n,), {"axis": 1 - along}
    elif kind == "blocks":
        scales = tuple(-(-d // block) if axis == along else d for axis, d in enumerate(shape))
        attributes = {"axis": along, "block_size": block}
    constants = {"w": codes(dtype, shape), "s": rng.uniform(0.001, 0.05, scales).astype(np.float32),
                 "b": rng.normal(size=n).astype(np.float32)}
    inputs = ["w", "s"]
    if dtype in INTEGERS and kind != "tensor":
        constants["z"] = codes(dtype, scales)
        inputs.append("z")
    nodes = [helper.make_node("DequantizeLinear", inputs, ["real"], **attributes)]
    x = "x"
    if activations:
        constants.update(xs=np.float32(0.03), xz=np.zeros((), dtype))
        nodes += [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
                  helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xr"])]
        x = "xr"
    nodes.append(helper.make_node("Gemm", [x, "real", "b"], ["y"], transB=1) if gemm else
                 helper.make_node("MatMul", [x, "real"], ["y"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", k])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", n])],
                              [numpy_helper.from_array(v, name) for name, v in constants.items()])
    two_bits = dtype in (ml_dtypes.int2, ml_dtypes.uint2)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25 if two_bits else 21)],
                             ir_version=13 if two_bits else 10)


def expected(model, x):
    """By ONNX Runtime; by ONNX's reference where that does not run it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return session.run(None, {"x": x})[0], True
    except Exception:  # pylint: disable=broad-except
        return ReferenceEvaluator(model).run(None, {"x": x})[0], False


def run_octet(model, x, folder, executor):
    onnx.save(model, folder / "m.onnx")
    np.save(folder / "x.npy", x)
    (folder / "y.npz").unlink(missing_ok=True)
    done = subprocess.run([OCTET, "run", folder / "m.onnx", "--input", f"x={folder / 'x.npy'}", "--executor", executor,
                           "-o", folder / "y.npz"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "y.npz")["y"]


def main():
    failures, by_runtime, count = [], 0, 0
    cases = [(t, kind, gemm, block, False) for t in INTEGERS + FLOATS for kind, block in
             [("tensor", 0), ("channel", 0), ("blocks", 16), ("blocks", 5)] for gemm in (False, True)]
    cases += [(t, "channel", False, 0, True) for t in FLOATS]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in cases:
            model = model_of(*case)
            for rows in (1, 5):
                x = rng.normal(size=(rows, 37)).astype(np.float32)
                want, ran = expected(model, x)
                by_runtime += ran
                count += 1
                for executor in ("reference", "native"):
                    try:
                        got = run_octet(model, x, folder, executor)
                        assert got.shape == want.shape
                        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
                    except AssertionError as e:
                        failures.append(f"{case} {executor}: {str(e)[:400]}")
    print("\n".join(failures))
    print(f"{len(failures)} differences; {by_runtime} of {count} runs by ONNX Runtime, the others by ONNX's reference")
    if by_runtime < count // 2:
        print("ONNX Runtime ran less than half of them")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
