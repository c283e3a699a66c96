# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime multiplies u8 x s8 with vpmaddubsw where there is no VNNI, which saturates; session.x64quantprecision is read by an
optimization, and unoptimized sessions are what octet is compared with. Weights of those products as u8, their zero points moved along,
are the same products, which it computes exactly."""
import copy
import functools
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# Places of x and its zero point (none: floats that the operator quantizes to u8), and of weights with theirs.
PLACES = {"QLinearMatMul": ((0, 2), [(3, 5)]), "QLinearConv": ((0, 2), [(3, 5)]), "MatMulInteger": ((0, 2), [(1, 3)]),
          "ConvInteger": ((0, 2), [(1, 3)]), "QGemm": ((0, 2), [(3, 5)]), "MatMulIntegerToFloat": ((0, 4), [(1, 5)]),
          "DynamicQuantizeMatMul": ((), [(1, 3)]), "DynamicQuantizeLSTM": ((), [(1, 9), (2, 11)])}


@functools.cache
def saturates():
    """Whether this processor is an x64 one without VNNI."""
    flags = next((line.split() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), [])
    return "avx2" in flags and not {"avx512_vnni", "avx_vnni"} & set(flags)


def options_of(exact_products):
    """Of a session in which MatMulNBits does not round its input to 8 bits."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
    if exact_products:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def exact_options():
    """Of a session whose products are exact; where it does not optimize, of with_exact_products."""
    return options_of(True)


def with_exact_products(model):
    """The model where products are exact; else a copy whose products of u8 codes and s8 weights are of u8 weights."""
    if not saturates() or not any(node.op_type in PLACES for node in model.graph.node):
        return model
    model = copy.deepcopy(model)
    graph = model.graph
    arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer if t.data_type == TensorProto.INT8}
    unsigned = {v.name for v in [*graph.input, *types_of(model)] if v.type.tensor_type.elem_type == TensorProto.UINT8}
    unsigned |= {t.name for t in graph.initializer if t.data_type == TensorProto.UINT8}
    nodes = []
    for node in graph.node:
        x, weights = PLACES.get(node.op_type, ((), []))
        for w, zero in weights:
            zero_name = node.input[zero] if zero < len(node.input) else ""
            known = zero_name in arrays or (not zero_name and node.input[w] in arrays)
            if known and (not x or unsigned & {node.input[i] for i in x if i < len(node.input)}):
                nodes += moved(node, w, zero, arrays, graph)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def moved(node, w, zero, arrays, graph):
    """Gives the node weights and a zero point that are 128 more, and returns the nodes that make them."""
    base = f"{next(filter(None, node.output))}_as_u8"
    node.input.extend([""] * (zero + 1 - len(node.input)))
    codes = {w: arrays.get(node.input[w]), zero: arrays.get(node.input[zero], np.int8(0))}
    made = []
    for place, array in codes.items():
        name = f"{base}_{place}"
        if array is not None:
            graph.initializer.append(numpy_helper.from_array(np.asarray(array).view(np.uint8) ^ np.uint8(0x80), name))
        else:  # computed by a node
            graph.initializer.append(numpy_helper.from_array(np.int32(128), f"{name}_more"))
            made = [helper.make_node("Cast", [node.input[place]], [f"{name}_wide"], to=TensorProto.INT32),
                    helper.make_node("Add", [f"{name}_wide", f"{name}_more"], [f"{name}_sum"]),
                    helper.make_node("Cast", [f"{name}_sum"], [name], to=TensorProto.UINT8)]
        node.input[place] = name
    return made


def types_of(model):
    """Of what nodes make, as far as they are known."""
    try:
        return onnx.shape_inference.infer_shapes(model).graph.value_info
    except Exception:  # pylint: disable=broad-except
        return []
