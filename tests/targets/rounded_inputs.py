# SPDX-License-Identifier: Apache-2.0
"""Weight-only files in ONNX Runtime: by default it rounds what stored weights are multiplied with to 8 bits, and with the
setting that `octet quantize` names it computes what the file says."""
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
SETTING = "session.qdq_matmulnbits_accuracy_level"
random = np.random.default_rng(7)


def octet(*arguments):
    return subprocess.run([OCTET, *arguments], check=True, capture_output=True, text=True).stdout


def run(path, x, level=None, optimized=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if level is not None:
        options.add_session_config_entry(SETTING, level)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def make(path):
    weight = numpy_helper.from_array(random.standard_normal((64, 24)).astype(np.float32), "w")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, size]) for name, size in (("x", 64), ("y", 24))]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "g", values[:1], values[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    make(folder / "m.onnx")
    x = random.standard_normal((4, 64)).astype(np.float32)
    for weights in ("int8", "int4", "int4/32"):
        file = folder / "q.onnx"
        quantize = ("quantize", folder / "m.onnx", "--mode", "weight-only", "--weights", weights, "--target", "onnxruntime", "-o", file,
                    "--force")
        said = octet(*quantize)
        assert SETTING + " = 0" in said and said.count(SETTING) == 1, said
        readers = {r["target"]: r for r in json.loads(octet(*quantize, "--json"))["readers"]}
        assert readers["onnxruntime"]["rounds_inputs"] and "rounds_inputs" not in readers["octet"], readers
        meant = run(file, x, optimized=False)
        error = {level: float(abs(run(file, x, level) - meant).max() / abs(meant).max()) for level in (None, "0")}
        assert error[None] > 1e-3 and error["0"] < 1e-6, (weights, error)
    octet("quantize", folder / "m.onnx", "--mode", "weight-only", "--weights", "fp8-e4m3fn", "--target", "onnxruntime", "-o",
          folder / "f.onnx")
    assert SETTING not in octet("explain", folder / "f.onnx", "--target", "onnxruntime")
