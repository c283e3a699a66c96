# SPDX-License-Identifier: Apache-2.0
"""Small Q/DQ models and what octet and ONNX Runtime make of them."""
import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
from exact_products import exact_options, saturates, with_exact_products
from onnx import TensorProto, helper, numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"


class Model:
    """Nodes and constants over one input x; each method returns the name of its value. `real`: the type of scales."""

    def __init__(self, shape, opset=17, real=np.float32):
        self.shape, self.opset, self.real, self.nodes, self.constants = shape, opset, real, [], []

    def constant(self, value, dtype=None):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{len(self.nodes)}", domain=domain, **attributes))
        return name

    def quantize(self, value, scale, zero):
        return self.node("QuantizeLinear", [value, self.constant(scale, self.real), self.constant(zero)])

    def dequantize(self, codes, scale, zero=None, **attributes):
        zeros = [] if zero is None else [self.constant(zero)]
        return self.node("DequantizeLinear", [codes, self.constant(scale, self.real), *zeros], **attributes)

    def pair(self, value, scale, zero):
        return self.dequantize(self.quantize(value, scale, zero), scale, zero)

    def save(self, path, output, kind=TensorProto.FLOAT):
        self.nodes.append(helper.make_node("Identity", [output], ["y"]))
        graph = helper.make_graph(self.nodes, "model", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info("y", kind, None)], self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8 if self.opset < 21 else 13), path)
        return path


def operators(path):
    return [n.op_type for n in onnx.load(path).graph.node]


def onnxruntime_outputs(path, x, optimized=None):
    """The outputs and None, or None and the error; as the file says it, or optimized (written there too)."""
    options = exact_options()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    if optimized:
        options.optimized_model_filepath = str(optimized)
    else:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        outputs = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})
        if not optimized and saturates():  # what it takes, it may not take with other weights
            exact = with_exact_products(onnx.load(path)).SerializeToString()
            outputs = onnxruntime.InferenceSession(exact, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})
        return outputs, None
    except Exception as error:  # reported to the test
        return None, str(error)


def onnxruntime_runs(path, x, optimized=None):
    """The same of the first output."""
    outputs, error = onnxruntime_outputs(path, x, optimized)
    return None if outputs is None else outputs[0], error


def octet(*words):
    return subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True)


def octet_runs(path, x, executor):
    """The output and None, or None and the error."""
    given, made = path.parent / "x.npz", path.parent / "y.npz"
    np.savez(given, x=x)
    result = octet("run", path, "--inputs", given, "-o", made, "--force", "--executor", executor)
    return (np.load(made)["y"], None) if result.returncode == 0 else (None, result.stderr)


def exported(path, form):
    """The file in that form, or raises what octet says."""
    out = path.with_suffix(f".{form}.onnx")
    result = octet("export", path, "--form", form, "-o", out, "--force")
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    return out


def findings(path):
    """The rules by which check refuses the file for ONNX Runtime."""
    said = json.loads(octet("check", path, "--target", "onnxruntime", "--json").stdout)
    return [f["rule"] for f in said["findings"] if f["severity"] == "error"]
