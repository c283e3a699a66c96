# SPDX-License-Identifier: Apache-2.0
"""A model as ONNX Runtime's CPU provider takes it: numbers that are stored in formats which it has no kernels for come as floats, by
ml_dtypes, codes that NumPy has no type for leave as floats, and what it does not know or computes by other rules is spelled out."""
import copy

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .formats import spread
from .spelled import spell_out, wants_words

WITHOUT_KERNELS = {TensorProto.FLOAT4E2M1, TensorProto.FLOAT8E8M0}
WITHOUT_ARRAYS = {TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ, TensorProto.INT4,
                  TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2}
NUMBERS = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}


def dequantized(node, arrays):
    """What DequantizeLinear makes of constants: one rounding of the difference, one of the product."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    codes, scale, *zero = (arrays[name] for name in node.input if name)
    axis = attributes.get("axis", 1) % max(codes.ndim, 1)
    def each(values):
        return spread(np.asarray(values, np.float64), codes.shape, axis, attributes.get("block_size", 0))
    difference = np.asarray(codes, np.float64) - (each(zero[0]) if zero else 0)
    kind = attributes.get("output_dtype") or helper.np_dtype_to_tensor_dtype(scale.dtype)
    return np.asarray(np.float32(difference).astype(np.float64) * each(scale), NUMBERS.get(kind, np.float32))


def for_onnxruntime(model):
    if isinstance(model, bytes):
        model = onnx.ModelProto.FromString(model)
    graph = model.graph
    strange = any(t.data_type in WITHOUT_KERNELS for t in graph.initializer)
    coded = any(o.type.tensor_type.elem_type in WITHOUT_ARRAYS for o in graph.output)
    words = wants_words(graph)
    if not strange and not coded and not words:
        return model
    model = copy.deepcopy(model)
    if words:
        spell_out(model)
    if strange:
        store_numbers(model.graph)
    for output in model.graph.output:
        if output.type.tensor_type.elem_type in WITHOUT_ARRAYS:
            made = f"{output.name}_numbers"
            model.graph.node.append(helper.make_node("Cast", [output.name], [made], to=TensorProto.FLOAT))
            output.name = made
            output.type.tensor_type.elem_type = TensorProto.FLOAT
    return model


def store_numbers(graph):
    """Every DequantizeLinear of constants becomes one, and what nobody reads then goes."""
    arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and all(i in arrays for i in node.input if i):
            arrays[node.output[0]] = dequantized(node, arrays)
            graph.initializer.append(numpy_helper.from_array(arrays[node.output[0]], node.output[0]))
        else:
            kept.append(node)
    read = {name for n in kept for name in n.input} | {o.name for o in graph.output}
    del graph.node[:]
    graph.node.extend(kept)
    tensors = [t for t in graph.initializer if t.name in read]
    del graph.initializer[:]
    graph.initializer.extend(tensors)
