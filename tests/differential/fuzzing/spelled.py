# SPDX-License-Identifier: Apache-2.0
"""Operators of QONNX by NumPy's formula in ONNX' arithmetic, and Resize of bytes with sums that are rounded, where ONNX Runtime cuts off
what is behind the point."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BYTES = (TensorProto.INT8, TensorProto.UINT8)
ROUNDINGS = {"ROUND": "Round", "HALF_EVEN": "Round", "CEIL": "Ceil", "FLOOR": "Floor"}


def attributes_of(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def interpolates(node):
    return node.op_type == "Resize" and attributes_of(node).get("mode", b"nearest") != b"nearest"


def is_of_qonnx(node):
    return node.op_type in ("Quant", "BipolarQuant") and node.domain != ""


def graphs_of(graph):
    """The graph and the bodies in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(attribute.g)


def wants_words(graph):
    return any(interpolates(n) or is_of_qonnx(n) for g in graphs_of(graph) for n in g.node)


def spell_out(model):
    arrays = {t.name: numpy_helper.to_array(t) for g in graphs_of(model.graph) for t in g.initializer}
    for graph in graphs_of(model.graph):
        replace(graph, lambda node: quant(node, arrays) if is_of_qonnx(node) else None)
    if not any(interpolates(n) for g in graphs_of(model.graph) for n in g.node):
        return
    inferred = onnx.shape_inference.infer_shapes(model).graph
    types = {v.name: v.type.tensor_type.elem_type for g in graphs_of(inferred) for v in (*g.input, *g.value_info, *g.output)}
    types.update({t.name: t.data_type for g in graphs_of(inferred) for t in g.initializer})
    for graph in graphs_of(model.graph):
        replace(graph, lambda node: rounded(node, types[node.input[0]]) if interpolates(node) and types.get(node.input[0]) in BYTES else None)


def replace(graph, spelled):
    """Nodes for which `spelled` gives others, and constants of theirs."""
    nodes = []
    for node in graph.node:
        made = spelled(node)
        nodes += made[0] if made else [node]
        graph.initializer.extend(made[1] if made else [])
    del graph.node[:]
    graph.node.extend(nodes)


class Words:
    """Nodes and constants in the place of one node."""

    def __init__(self, node):
        self.node, self.nodes, self.constants = node, [], []

    def constant(self, part, array):
        self.constants.append(numpy_helper.from_array(array, f"{self.node.output[0]}/{part}"))
        return self.constants[-1].name

    def add(self, op, inputs, last=False, **attributes):
        name = self.node.output[0] if last else f"{self.node.output[0]}/{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def all(self):
        return self.nodes, self.constants


def quant(node, arrays):
    """qonnx.custom_op.general: int_quant and bipolar_quant."""
    w, x, scale = Words(node), node.input[0], node.input[1]
    if node.op_type == "BipolarQuant":
        below = w.add("Less", [x, w.constant("zero", np.float32(0))])
        w.add("Where", [below, w.add("Neg", [scale]), scale], last=True)
        return w.all()
    told = attributes_of(node)
    bits = round(float(arrays[node.input[3]].reshape(())))
    narrow = told.get("narrow", 0)
    low, high = (-2**(bits - 1) + narrow, 2**(bits - 1) - 1) if told.get("signed", 1) else (0, 2**bits - 1 - narrow)
    steps = w.add("Add", [w.add("Div", [x, scale]), node.input[2]])
    kept = w.add("Clip", [steps, w.constant("low", np.float32(low)), w.constant("high", np.float32(high))])
    codes = w.add(ROUNDINGS[told.get("rounding_mode", b"ROUND").decode()], [kept])
    w.add("Mul", [w.add("Sub", [codes, node.input[2]]), scale], last=True)
    return w.all()


def rounded(node, kind):
    w = Words(node)
    lowest, highest = (-128, 127) if kind == TensorProto.INT8 else (0, 255)
    numbers = w.add("Cast", [node.input[0]], to=TensorProto.FLOAT)
    resized = w.add("Resize", [numbers, *node.input[1:]], **attributes_of(node))
    whole = w.add("Round", [resized])
    kept = w.add("Clip", [whole, w.constant("low", np.float32(lowest)), w.constant("high", np.float32(highest))])
    w.add("Cast", [kept], last=True, to=kind)
    return w.all()
