# SPDX-License-Identifier: Apache-2.0
"""What a model holds of what its kind of graph is drawn for, so that a test can ask whether it was."""
import dataclasses

import numpy as np
from onnx import TensorProto, numpy_helper

from .spelled import graphs_of

COUNTED = ("DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "Quant", "BipolarQuant", "MatMulNBits")
PRODUCTS = ("Conv", "Gemm", "MatMul")
HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
HALF_PRODUCT, BETWEEN, RESIZE, CHANNELS = ("a product of codes in halves", "functions between it and codes", "Resize of codes",
                                           "channels of unlike zero points")
OF_HALVES = (HALF_PRODUCT, BETWEEN)
OF_CODED = (*COUNTED, RESIZE, CHANNELS)


@dataclasses.dataclass
class Drawn:
    nodes: int = 0
    features: frozenset = frozenset()


def drawn_in(model):
    return Drawn(len(model.graph.node), frozenset(features(model)))


def features(model):
    """Names of what is there, each once."""
    found = set()
    for graph in graphs_of(model.graph):
        found |= {n.op_type for n in graph.node if n.op_type in COUNTED}
        found |= set(of_graph(graph, {t.name: t for g in graphs_of(model.graph) for t in g.initializer}))
    return found


def of_graph(graph, tensors):
    makers = {name: n for n in graph.node for name in n.output if name}
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)

    def made_by(name, op):
        return name in makers and makers[name].op_type == op

    def dequantized_to_halves(name):
        return made_by(name, "DequantizeLinear") and makers[name].input[1] in tensors and tensors[makers[name].input[1]].data_type in HALVES

    for node in graph.node:
        if node.op_type == "Resize" and made_by(node.input[0], "QuantizeLinear"):
            yield RESIZE
        if node.op_type == "QuantizeLinear" and len(node.input) > 2 and node.input[2] in tensors:
            if len(np.unique(numpy_helper.to_array(tensors[node.input[2]]).astype(np.float32))) > 1:
                yield CHANNELS
        if node.op_type in PRODUCTS and all(dequantized_to_halves(name) for name in node.input[:2]):
            yield HALF_PRODUCT
            behind = [reader for reader in readers.get(node.output[0], []) if reader.op_type != "QuantizeLinear" and len(reader.output) == 1]
            if any(last.op_type == "QuantizeLinear" for reader in behind for last in readers.get(reader.output[0], [])):
                yield BETWEEN
