# SPDX-License-Identifier: Apache-2.0
"""Q/DQ graphs in f16 or bf16, as tools write them that turn a network to halves and quantize it: scales are halves, and so is what
stands between DequantizeLinear and QuantizeLinear."""
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .generate import Skipped, generate_by
from .quantization import ABSORBED, PRODUCTS

VERSIONS = (19, 19, 20, 21, 21, 22, 23, 24, 25)  # Q and DQ of halves came with 19
LARGEST = 3e3  # squares and sums stay in range
FUNCTIONS = (*ABSORBED, "Mul", "Div", "Sub", "Max", "Min", "Tanh", "Elu", "Gelu", "Abs", "Neg")
TYPES = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}


class Unfit(Exception):
    """What was drawn has no like in halves, or other numbers in ONNX Runtime."""


def generate(seed):
    for attempt in range(8):
        random = np.random.default_rng([seed, 47, attempt])
        case = generate_by(random, seed, VERSIONS, LARGEST, leave_functions_between)
        # ONNX Runtime's CPU provider has few kernels of bf16; what octet makes of it is compared all the same.
        kind = TensorProto.FLOAT16 if random.random() < 0.93 else TensorProto.BFLOAT16
        # NumPy has no bf16 for what ONNX Runtime gives.
        keeps_ends = kind == TensorProto.BFLOAT16 or random.random() < 0.5
        try:
            return in_halves(case, kind, keeps_ends)
        except Unfit as reason:
            why = str(reason)
    raise Skipped(why)


def in_halves(case, kind, keeps_ends):
    """`keeps_ends`: what goes in and what comes out are floats."""
    convert(case.model.graph, kind)
    if keeps_ends:
        cast_ends(case.model.graph, kind)
    else:
        case.sets = [{name: x.astype(TYPES[kind]) if x.dtype == np.float32 else x for name, x in inputs.items()} for inputs in case.sets]
    return case


def leave_functions_between(annotator):
    """Behind most products no codes before those of the functions of what they make."""
    if annotator.s.chance(0.7):
        annotator.absorbs, annotator.absorbed, annotator.absorbing = 0.9, FUNCTIONS, (*PRODUCTS, *FUNCTIONS)


def convert(graph, kind):
    """Every float is a half, but numbers whose type the operator fixes."""
    if any(tensor.data_type == TensorProto.FLOAT8E8M0 for tensor in graph.initializer):
        raise Unfit("numbers that are floats by their scales")
    # A quotient that no half holds is infinite in ONNX, and large in ONNX Runtime: of one E5M2FNUZ makes NaN.
    if any(tensor.data_type == TensorProto.FLOAT8E5M2FNUZ for tensor in graph.initializer):
        raise Unfit("quotients that no half holds")
    fixed = {name for n in graph.node if n.op_type in ("Resize", "Upsample") for name in n.input[1:]}
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and tensor.name not in fixed:
            with np.errstate(over="ignore"):
                array = numpy_helper.to_array(tensor).astype(TYPES[kind])
            if not np.isfinite(array.astype(np.float32)).all():
                raise Unfit("large numbers")
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        elif tensor.data_type == TensorProto.FLOAT16 and kind == TensorProto.BFLOAT16:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(TYPES[kind]), tensor.name))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "output_dtype") and attribute.i in (TensorProto.FLOAT, TensorProto.FLOAT16):
                attribute.i = kind
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = kind


def cast_ends(graph, kind):
    """Inputs and outputs stay floats."""
    def is_half(value):
        return value.type.tensor_type.elem_type == kind
    begins = {value.name: f"{value.name}_half" for value in graph.input if is_half(value)}
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = begins.get(name, name)
    for at, (name, made) in enumerate(begins.items()):
        graph.node.insert(at, helper.make_node("Cast", [name], [made], name=f"begin{at}", to=kind))
    for at, value in enumerate(v for v in graph.output if is_half(v)):
        made = value.name
        value.name = f"{made}_float"
        graph.node.append(helper.make_node("Cast", [made], [value.name], name=f"end{at}", to=TensorProto.FLOAT))
    for value in (*graph.input, *graph.output):
        if is_half(value):
            value.type.tensor_type.elem_type = TensorProto.FLOAT
