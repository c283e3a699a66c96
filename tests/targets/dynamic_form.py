# SPDX-License-Identifier: Apache-2.0
"""octet's own dynamic form (a scale for each row), exported for ONNX Runtime: it loads there and computes what octet's
reference does with the same file, as near to the float model as the file that quantize writes for ONNX Runtime at once."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
random = np.random.default_rng(7)


def weight(name, *shape):
    return numpy_helper.from_array((random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32), name)


def model():
    """Three products of one tensor, a bias, and one that is transposed."""
    nodes = [helper.make_node("MatMul", ["x", "wq"], ["q"], name="q"), helper.make_node("MatMul", ["x", "wk"], ["k"], name="k"),
             helper.make_node("MatMul", ["x", "wv"], ["v"], name="v"), helper.make_node("Add", ["v", "bv"], ["vb"], name="vb"),
             helper.make_node("Mul", ["q", "k"], ["qk"], name="qk"), helper.make_node("Add", ["qk", "vb"], ["s"], name="s"),
             helper.make_node("Reshape", ["s", "rows"], ["flat"], name="flat"),
             helper.make_node("Gemm", ["flat", "wo", "bo"], ["y"], name="y", transB=1)]
    constants = [weight("wq", 16, 16), weight("wk", 16, 16), weight("wv", 16, 16), weight("bv", 16), weight("wo", 8, 16),
                 weight("bo", 8), numpy_helper.from_array(np.array([-1, 16], np.int64), "rows")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def octet(*words):
    subprocess.run([OCTET, *map(str, words)], check=True, capture_output=True)


def in_onnxruntime(path, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        onnx.save(model(), folder / "float.onnx")
        octet("quantize", folder / "float.onnx", "--mode", "dynamic", "-o", folder / "octet.onnx")
        octet("quantize", folder / "float.onnx", "--mode", "dynamic", "--target", "onnxruntime", "-o", folder / "direct.onnx")
        octet("export", folder / "octet.onnx", "--target", "onnxruntime", "-o", folder / "exported.onnx")
        octet("repair", folder / "octet.onnx", "--target", "onnxruntime", "-o", folder / "repaired.onnx")
        x = random.normal(size=(2, 3, 16)).astype(np.float32)
        np.save(folder / "x.npy", x)
        exact = in_onnxruntime(folder / "float.onnx", x)
        error = {}
        for made in ("direct", "exported", "repaired"):
            file = folder / f"{made}.onnx"
            operators = [n.op_type for n in onnx.load(file).graph.node]
            assert operators.count("DynamicQuantizeLinear") == 2, (made, operators)
            assert operators.count("MatMulInteger") == 4, (made, operators)
            y = in_onnxruntime(file, x)
            error[made] = np.abs(y - exact).max() / np.abs(exact).max()
            octet("run", file, "--input", f"x={folder / 'x.npy'}", "--executor", "reference", "-o", folder / "y.npz", "--force")
            ours = next(iter(np.load(folder / "y.npz").values()))
            assert np.abs(ours - y).max() <= 1e-5 * np.abs(exact).max(), made
        assert error["exported"] <= 1.01 * error["direct"] < 0.05, error
        assert error["repaired"] <= 1.01 * error["direct"], error
    return 0


sys.exit(main())
