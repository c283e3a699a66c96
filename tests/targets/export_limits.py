# SPDX-License-Identifier: Apache-2.0
"""What `export --form` writes of operators and parameters at the edge of what ONNX Runtime's operators on codes take: the
file loads, and ONNX Runtime computes what it computes for the Q/DQ file, but for one code at ties."""
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
random = np.random.default_rng(5)
problems = []


def run(path, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


class Model:
    """Q/DQ around one operator; the output is codes."""

    def __init__(self, opset=17, one_element=False):
        self.opset, self.one_element = opset, one_element
        self.nodes, self.constants = [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def parameters(self, scale, zero):
        shape = (1,) if self.one_element else ()
        return [self.constant(np.reshape(a, shape)) for a in (np.float32(scale), zero)]

    def node(self, op, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], name=f"n{len(self.nodes)}", **attributes))
        return self.nodes[-1].output[0]

    def quantize(self, value, scale, zero):
        return self.node("QuantizeLinear", [value, *self.parameters(scale, zero)])

    def pair(self, value, scale, zero):
        return self.node("DequantizeLinear", [self.quantize(value, scale, zero), *self.parameters(scale, zero)])

    def save(self, path, shape, output):
        kind = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8, np.float32: TensorProto.FLOAT}
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(self.nodes[-1].output[0], kind[output], None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8), path)


def compare(name, model, shape, form, most, output=np.uint8, wanted=None, spread=1.0):
    """The operators that were written; None where something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder) / "a.onnx", pathlib.Path(folder) / "b.onnx"
        model.save(before, shape, output)
        x = (spread * random.standard_normal(shape)).astype(np.float32)
        done = subprocess.run([OCTET, "export", before, "--form", form, "-o", after], capture_output=True, text=True)
        if done.returncode != 0:
            problems.append(f"{name}: {done.stderr.strip()}")
            return
        try:
            got, want = run(after, x).astype(np.float64), run(before, x).astype(np.float64)
        except Exception as error:
            problems.append(f"{name}: {str(error)[:300]}")
            return
        off = np.abs(got - want).max()
        if off > most:
            problems.append(f"{name}: {off} codes off")
        ops = [n.op_type for n in onnx.load(after).graph.node]
        if wanted and wanted not in ops:
            problems.append(f"{name}: {wanted} was expected, {ops} written")


def one_element_scales():
    for op in ("Add", "Mul", "AveragePool", "GlobalAveragePool", "Sigmoid", "LeakyRelu", "Softmax", "Concat", "Where"):
        for form in ("qoperator", "fused"):
            m = Model(one_element=True)
            x = m.pair("x", 0.03, np.uint8(121))
            other = m.pair(m.node("Neg", ["x"]), 0.02, np.uint8(130))
            operands, attributes = [x], {}
            if op in ("Add", "Mul", "Concat"):
                operands = [x, other]
            if op == "Where":
                operands = [m.constant(random.random((1, 3, 4, 4)) < 0.5), x, other]
            if op == "AveragePool":
                attributes = {"kernel_shape": [2, 2]}
            if op in ("Softmax", "Concat"):
                attributes = {"axis": 1}
            m.quantize(m.node(op, operands, **attributes), 0.05, np.uint8(101))
            compare(f"{op}, parameters of one element, {form}", m, (1, 3, 4, 4), form, 1, wanted=f"QLinear{op}")


def clips_of_codes():
    for opset in (10, 11, 12, 13):
        for type_, zero in ((np.int8, -3), (np.uint8, 120)):
            m = Model(opset)
            x = m.pair("x", 0.03, type_(zero))
            w = m.node("DequantizeLinear", [m.constant(random.integers(0, 100, (4, 5)).astype(type_)), *m.parameters(0.01, type_(50))])
            m.quantize(m.node("MatMul", [x, w]), 0.05, type_(zero))
            compare(f"qcdq at operator set {opset}, {type_.__name__}", m, (3, 4), "qcdq", 0, type_, "Clip")


def softmax():
    for width in (1, 2, 3, 8):
        for scale in (1 / 1020, 1 / 510, 1 / 300, 1 / 256, 1 / 255, 1 / 128):
            for type_, zero in ((np.uint8, 0), (np.int8, -128), (np.uint8, 100)):
                for opset in (11, 13):
                    m = Model(opset)
                    x = m.pair("x", 0.02, type_(zero))
                    m.quantize(m.node("Softmax", [x], axis=1), scale, type_(zero))
                    wanted = "QLinearSoftmax" if width > 1 and scale >= 1 / 256 else "Softmax"
                    compare(f"Softmax of {width} at scale 1/{1 / scale:.0f}, {type_.__name__}, operator set {opset}", m,
                            (20, width), "qoperator", 1, type_, wanted)


def pools():
    for ceil in (0, 1):
        for counted in (0, 1):
            for size, kernel, stride, pad in ((6, 3, 3, 1), (9, 3, 2, 1), (7, 2, 3, 0), (5, 3, 4, 1)):
                m = Model()
                y = m.node("AveragePool", [m.pair("x", 0.03, np.uint8(200))], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                           pads=[pad] * 4, ceil_mode=ceil, count_include_pad=counted)
                m.quantize(y, 0.03, np.uint8(122))
                compare(f"AveragePool {size} {kernel} {stride} {pad}, ceil_mode {ceil}, count_include_pad {counted}", m,
                        (1, 2, size, size), "qoperator", 1, wanted="AveragePool" if ceil and counted else "QLinearAveragePool")
    for ratio in (1e-4, 0.01, 1, 200, 300, 1000, 1e5):
        for size in (1, 3, 16):
            m = Model()
            x = m.pair("x", 0.03, np.uint8(120))
            m.quantize(m.node("GlobalAveragePool", [x]), 0.03 / ratio, np.uint8(120))
            compare(f"GlobalAveragePool of {size}, scales at {ratio}", m, (1, 2, size, size), "qoperator", 1,
                    wanted="QLinearGlobalAveragePool" if 0.01 <= ratio <= 200 else None)
            m = Model()
            x = m.pair("x", 0.03, np.uint8(120))
            m.quantize(m.node("AveragePool", [x], kernel_shape=[size, size]), 0.03 / ratio, np.uint8(120))
            compare(f"AveragePool of all {size}, scales at {ratio}", m, (1, 2, size, size), "qoperator", 1,
                    wanted="QLinearAveragePool" if 0.01 <= ratio <= 200 else None)


one_element_scales()
clips_of_codes()
softmax()
pools()
print("\n".join(problems))
sys.exit(1 if problems else 0)
