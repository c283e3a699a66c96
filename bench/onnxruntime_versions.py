# SPDX-License-Identifier: Apache-2.0
# What one release of ONNX Runtime takes, and which layers of a Q/DQ file become integer in it: the rows behind
# src/targets/onnxruntime/releases.cc. Prints one JSON object. Run it with the release in front, for example
#
#   pip install --no-deps --target /tmp/ort-1.20 onnxruntime==1.20.1
# usage: PYTHONPATH=/tmp/ort-1.20 tools/setup-peers --run bench/onnxruntime_versions.py   (releases below 1.19 want numpy 1)
import json
import pathlib
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.log_severity_level = 4


def refusal(opset, ir):
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
    except Exception as error:
        return str(error)
    return None


class Form:
    """Q/DQ around one operator."""

    def __init__(self, kind=numpy.uint8, zero=128):
        self.nodes, self.constants, self.kind, self.zero = [], [], kind, zero

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def node(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def parameters(self, name, zero=None):
        return [self.constant(f"{name}/s", numpy.float32(0.0625)),
                self.constant(f"{name}/z", self.kind(self.zero if zero is None else zero))]

    def pair(self, name, zero=None):
        q = self.node("QuantizeLinear", [name, *self.parameters(name, zero)], f"{name}/q")
        return self.node("DequantizeLinear", [q, f"{name}/s", f"{name}/z"], f"{name}/dq")

    def weight(self, shape):
        codes = self.constant("w", numpy.random.default_rng(0).integers(-64, 64, shape).astype(numpy.int8))
        scale = self.constant("w/s", numpy.float32(0.03125))
        return self.node("DequantizeLinear", [codes, scale, self.constant("w/z", numpy.int8(0))], "w/dq")

    def bias(self, count, stored):
        if not stored:
            return self.constant("b", numpy.linspace(-1, 1, count, dtype=numpy.float32))
        codes = self.constant("b", numpy.arange(count, dtype=numpy.int32))
        scale = self.constant("b/s", numpy.float32(0.0625 * 0.03125))
        return self.node("DequantizeLinear", [codes, scale, self.constant("b/z", numpy.int32(0))], "b/dq")


def product(op, bias=None, output=True, relu=None, **codes):
    form = Form(**codes)
    shape = {"Conv": (4, 3, 3, 3), "Gemm": (8, 4), "MatMul": (8, 4)}[op]
    inputs = [form.pair("x"), form.weight(shape)]
    if bias:
        inputs.append(form.bias(4, bias == "int32"))
    last = form.node(op, inputs, "p")
    if relu is not None:
        last = form.node("Relu", [last], "r")
    if output:
        last = form.pair(last, relu)
    form.node("Identity", [last], "y")
    return form, [1, 3, 8, 8] if op == "Conv" else [2, 8]


def around(op, inputs=1, domain="", **attributes):
    form = Form()
    dq = form.pair("x")
    form.node(op, [dq] * inputs if op != "Where" else [form.constant("c", numpy.ones((1, 3, 8, 8), bool)), dq, dq], "p",
              domain, **attributes)
    form.node("Identity", [form.pair("p")], "y")
    return form, [1, 3, 8, 8]


FORMS = {
    "Conv, float bias, Q": lambda: product("Conv", "float"), "Conv, int32 bias, Q": lambda: product("Conv", "int32"),
    "Conv, no Q": lambda: product("Conv", output=False),
    "Conv, Relu, Q at 0": lambda: product("Conv", "int32", relu=0),
    "Conv, Relu, Q at 128": lambda: product("Conv", "int32", relu=128),
    "Conv of int8 codes": lambda: product("Conv", "int32", kind=numpy.int8, zero=0),
    "Gemm, float bias, Q": lambda: product("Gemm", "float"), "Gemm, int32 bias, Q": lambda: product("Gemm", "int32"),
    "Gemm, no bias, no Q": lambda: product("Gemm", output=False),
    "Gemm, int32 bias, no Q": lambda: product("Gemm", "int32", output=False),
    "Gemm, float bias, no Q": lambda: product("Gemm", "float", output=False),
    "MatMul, Q": lambda: product("MatMul"), "MatMul, no Q": lambda: product("MatMul", output=False),
    "AveragePool": lambda: around("AveragePool", kernel_shape=[2, 2]),
    "GlobalAveragePool": lambda: around("GlobalAveragePool"), "Add": lambda: around("Add", 2),
    "Mul": lambda: around("Mul", 2), "Concat": lambda: around("Concat", 2, axis=1), "Sigmoid": lambda: around("Sigmoid"),
    "LeakyRelu": lambda: around("LeakyRelu"), "Softmax": lambda: around("Softmax"), "Where": lambda: around("Where"),
}
PLAIN = {"QuantizeLinear", "DequantizeLinear", "Identity"}


def becomes(form, shape, folder):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(form.nodes, "g", [x], [y], form.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return " + ".join(sorted(n.op_type for n in onnx.load(folder / "optimized.onnx").graph.node if n.op_type not in PLAIN))


with tempfile.TemporaryDirectory() as scratch:
    out = {"version": onnxruntime.__version__}
    out["ir"] = max(ir for ir in range(7, 16) if refusal(13, ir) is None)
    out["opset"] = max(opset for opset in range(13, 31) if refusal(opset, out["ir"]) is None)
    out["messages"] = [refusal(out["opset"] + 1, out["ir"]), refusal(13, out["ir"] + 1)]
    out["forms"] = {name: becomes(*make(), pathlib.Path(scratch)) for name, make in FORMS.items()}
    print(json.dumps(out, indent=1))
