# SPDX-License-Identifier: Apache-2.0
"""Codes of FP8, 4 and 2 bits, which ONNX Runtime's rewriting of Q/DQ takes for 8 bits in many places: as onnxruntime_fusion.py,
and Relu and Clip in front of Q, what Q moves past, MatMul with the bias behind it, and products of floats with stored weights."""
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import numpy as np
from onnx import TensorProto
from fused_layers import AROUND, FEW, LAST, SHAPE, Model, around, opset_of, product, report

CLAMPS = {"Relu": [], "Clip": [0, 6], "Clip wide": [-1e5, 1e5], "Clip low": [0, None], "Clip none": []}
MOVES = {"MaxPool": ({"kernel_shape": [2, 2]}, []), "Transpose": ({}, []), "Reshape": ({}, [np.array([2, -1])]),
         "Unsqueeze": ({}, [np.array([0])]), "Slice": ({}, [np.array([0]), np.array([1])]), "Flatten": ({}, [])}
LOWEST = {"int4": -8, "uint4": 0, "int2": -2, "uint2": 0}


def quantized(kind, ops, zero=None, count=None, made=True):
    """Relu, Clip and what moves values, in front of Q and DQ; `made`: by a node, and not the graph's input."""
    m = Model(opset_of(kind))
    value = m.node("Neg", ["x"], "n") if made else "x"
    for i, op in enumerate(ops):
        attributes, more = MOVES.get(op, ({}, CLAMPS.get(op)))
        more = ["" if v is None else m.constant(f"{i}/{k}", np.asarray(v, None if op in MOVES else np.float32))
                for k, v in enumerate(more)]
        value = m.node(op.split()[0], [value, *more], f"v{i}", name="layer" if i == 0 else "", **attributes)
    s = m.constant("s", np.full(count or [], 0.05, np.float32))
    z = m.codes("z", kind, np.full(count or [], FEW[kind] if zero is None else zero))
    along = {"axis": 1} if count else {}
    q = m.node("QuantizeLinear", [value, s, z], "q", **along)
    return m.made(SHAPE, [m.node("DequantizeLinear", [q, s, z], "y", **along)], TensorProto.FLOAT), SHAPE


def biased(kind, opset, shape, bias, behind, readers=1):
    """MatMul and Add of a bias."""
    m = Model(opset)
    x = m.pair("x", "x", kind)
    s, z = m.parameters("w", "int8", 0.02)
    w = m.node("DequantizeLinear", [m.constant("w", np.arange(-12, 12, dtype=np.int8).reshape(4, 6)), s, z], "w/dq")
    y = m.node("Add", [m.node("MatMul", [x, w], "product", name="layer"), m.constant("b", np.ones(bias, np.float32))], "o")
    y = m.pair(y, "behind", behind) if behind else y
    return m.made(shape, [y] + (["product"] if readers > 1 else []), TensorProto.FLOAT), shape


def alone(op, real, weight, width, behind):
    """A float input and a stored weight of so many columns, in f32 or f16."""
    m = Model(25)
    codes = m.codes("w", weight, np.random.default_rng(width).integers(LAST[weight][0], LAST[weight][1] + 1, [32, width]))
    scale = m.constant("w/s", np.asarray(0.02, real))
    w = m.node("DequantizeLinear", [codes, scale, m.codes("w/z", weight, FEW.get(weight, 0))], "w/dq")
    x = m.node("Cast", ["x"], "x/real", to=10) if real == np.float16 else "x"
    y = m.node(op, [x, w], "o", name="layer")
    if behind:
        s, z = m.constant("s", np.asarray(0.05, real)), m.codes("z", "uint8", 128)
        y = m.node("DequantizeLinear", [m.node("QuantizeLinear", [y, s, z], "q"), s, z], "d")
    y = m.node("Cast", [y], "y", to=1) if real == np.float16 else y
    return m.made([3, 32], [y], TensorProto.FLOAT), [3, 32]


def grid():
    for op, real, weight, width, behind in itertools.product(("MatMul", "Gemm"), (np.float32, np.float16), ("int2", "uint2", "int4", "uint4"), (5, 8), (False, True)):
        if width == 5 and "int2" in weight:  # garbage, which may be the same (docs/targets.md)
            continue
        yield f"{op} alone {real.__name__} {weight} {width} behind:{behind or None}", alone(op, real, weight, width, behind)
    for title, kind, wide, behind in itertools.product(AROUND, ("float8_e4m3fn", "float8_e5m2fnuz", "int4", "uint2"), (None, "in0"), (None, 0.05, 0.01)):
        yield f"{title} {kind} several:{wide} behind:{behind}", around(title, kind, wide, behind)
    narrow = ("int4", "uint2", "float8_e4m3fn")
    for op, kind, weight, scales, behind in itertools.product(
            ("MatMul", "batched MatMul", "MatMul of 3", "Gemm", "Conv"), ("uint8", "int8", "int16", *narrow),
            ("int8", "uint8", "int4", "int2", "float8_e4m3fn", "float8_e5m2"), ("one", "column"), (None, "uint8", "same")):
        if not {kind, weight} & set(FEW):
            continue
        behind = kind if behind == "same" else behind
        for bias in (None, "float", "int32") if op in ("Gemm", "Conv") else (None,):
            yield f"{op} {kind} {weight} {scales} bias:{bias} behind:{behind}", product(op, kind, False, weight, scales, behind, bias)
    for clamp, kind in itertools.product(CLAMPS, FEW):
        for zero in {FEW[kind], LOWEST.get(kind, 0)}:
            yield f"{clamp} {kind} zero:{zero}", quantized(kind, [clamp], zero)
        yield f"{clamp} {kind} several", quantized(kind, [clamp], count=4)
        yield f"{clamp} {kind} of the input", quantized(kind, [clamp], made=False)
        for move in ("Transpose", "Flatten", "Slice"):
            yield f"{clamp} {move} {kind}", quantized(kind, [clamp, move])
    for move, kind in itertools.product(MOVES, FEW):
        yield f"{move} {kind} Q alone", quantized(kind, [move])
        yield f"{move} Transpose {kind} Q alone", quantized(kind, [move, "Transpose"])
    for kind, opset, (shape, bias), behind, readers in itertools.product(
            ("int8", "uint8", "float8_e4m3fn", "int4"), (20, 21, 23),
            (([2, 3, 4], [6]), ([2, 3, 4], [1]), ([2, 3, 4], [3, 6]), ([3, 4], [6]), ([4], [6]), ([2, 2, 3, 4], [6])),
            (None, "uint8"), (1, 2)):
        if opset == 20 and kind == "int4":
            continue
        yield (f"MatMul and Add {kind} opset:{opset} {shape} bias:{bias} readers:{readers} behind:{behind}",
               biased(kind, opset, shape, bias, behind, readers))


sys.exit(report(grid()))
