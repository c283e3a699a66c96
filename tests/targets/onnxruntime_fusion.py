# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime makes of one operator between Q and DQ, over a grid of code types, scales and operators: check accepts
the files that it loads and runs with all of its optimizations, and no others; explain says whether the operator is integer
there, runs on codes, or is float, as its optimized graph shows; repair gives a file that it runs, with the values that it
has for the file as it came without optimizations."""
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from fused_layers import AROUND, NOTHING, WAYS, ZERO, around, padded, product, read_outside, report


def grid():
    for title, kind, wide, behind in itertools.product(AROUND, ZERO, (None, "in0", "in1", "out"), (None, 0.05, 0.01)):
        if (wide == "in1" and AROUND[title][0] < 2) or (wide == "out" and not behind):
            continue
        yield f"{title} {kind} several:{wide} behind:{behind}", around(title, kind, wide, behind)
    for op, kind, wide, weight, scales, behind in itertools.product(
            ("MatMul", "batched MatMul", "MatMul of 3", "Gemm", "Conv"), ("uint8", "int8", "uint16"), (False, True), ("int8", "uint8", "int16", "float32"),
            ("one", "column", "row", "block"), (None, "uint8", "int8")):
        if weight == "float32" and scales != "one":
            continue
        if scales == "block" and op in ("Conv", "MatMul of 3"):
            continue
        for bias in (None, "float", "int32") if op in ("Gemm", "Conv") else (None,):
            yield f"{op} {kind} several:{wide} {weight} {scales} bias:{bias} behind:{behind}", product(op, kind, wide, weight, scales, behind, bias)
    # Scales along the wrong axis may be as many, and the weight may come by way of another operator.
    for op, width, way, scales, behind in itertools.product(
            ("MatMul", "Gemm", "Gemm transB", "MatMul, Add", "Conv"), (4, 6), (None, *WAYS), ("one", "column", "row"), (None, "uint8")):
        if width == 6 and not way:
            continue
        for bias in {"MatMul": (None,), "MatMul, Add": ("float", "int32")}.get(op, (None, "float", "int32")):
            yield (f"{op} {width} by {way} {scales} bias:{bias} behind:{behind}",
                   product(op, "uint8", False, "int8", scales, behind, bias, width=width, way=way))
    # What does nothing is gone before the rest is looked at; a Max stays.
    for op, kind, what, where, scales, behind in itertools.product(
            ("MatMul", "Gemm", "Conv"), ("uint8", "float8_e4m3fn"), NOTHING, ("x", "w", "layer"), ("one", "row"), (None, "uint8")):
        yield (f"{op} {kind} with {what} behind {where} {scales} behind:{behind}",
               product(op, kind, False, "int8", scales, behind if kind == "uint8" else behind and kind, None, width=4, idle=(what, where)))
    for op, kind, beside, bias, behind in itertools.product(
            ("MatMul", "Gemm", "Conv"), ("uint8", "int8", "float8_e4m3fn"), ("nothing", "Neg", "output", "Transpose", "Transpose, Q", "Q"), (None, "float", "int32"),
            (None, "uint8")):
        if bias is None or op != "MatMul":
            yield (f"{op} {kind} squeezed beside {beside} bias:{bias} behind:{behind}",
                   product(op, kind, False, "int8", "one", behind and kind, bias, beside=beside))
    for moves, kind, readers in itertools.product(
            (["Transpose"], ["MaxPool"], ["Reshape"], ["Transpose", "Reshape"], ["Transpose", "Relu"], ["Transpose", "MaxPool"], ["Slice", "Transpose"]),
            ("uint8", "int8", "uint16"), (0, 1)):
        yield f"{moves} {kind} of an output, readers:{readers} behind:None", read_outside(moves, kind, readers)
    # A Pad becomes part of the layer, also in f32.
    for op, kind, pads, value, own, before in itertools.product(
            ("Conv", "AveragePool", "MaxPool"), ("uint8", "int8", None), ([0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 2, 0, 0, 0, 2], [0, 1, 0, 0, 0, 0, 1, 0]),
            (None, 0, -0.0, 1), (0, 1), (None, "Relu")):
        for counts in (0, 1) if op == "AveragePool" else (0,):
            yield f"{op} {kind} {pads} of {value} own:{own} {before} counts:{counts}", padded(op, kind, pads, value, own, counts, before)
    # Without zero points: of Q they are those of uint8, and 0.
    for op, bare, scales, behind in itertools.product(("MatMul", "batched MatMul", "Gemm", "Conv"), ("x", "w", "behind", "x w", "x w behind"),
                                                      ("one", "column"), (None, "uint8")):
        if "behind" in bare and not behind:
            continue
        for bias in (None, "float", "int32") if op in ("Gemm", "Conv") else (None,):
            yield (f"{op} without {bare} {scales} bias:{bias} behind:{behind}",
                   product(op, "uint8", False, "int8", scales, behind, bias, bare.split()))
    # What is moved past a DQ of int8 without one makes UINT8 before operator set 21.
    for title, kind, behind, opset in itertools.product(("MaxPool", "Transpose", "Reshape", "Slice", "Flatten", "Add"), ("uint8", "int8"), (None, 0.05), (17, 21)):
        yield f"{title} {kind} {opset} without that of the DQ behind:{behind}", around(title, kind, None, behind, ("in0 dq",), opset)
    for op, kind, opset, behind in itertools.product(("MatMul, Add", "batched MatMul", "Gemm"), ("uint8", "int8"), (17, 21), (False, True)):
        yield (f"{op} {kind} {opset} without that of the DQ behind:{behind or None}",
               product(op, kind, False, "int8", "one", kind if behind else None, "float", ("x dq",), opset=opset))
    for title, bare, behind in itertools.product(AROUND, ("in0", "in1", "o/behind", "in0 in1 o/behind"), (None, 0.05, 0.01)):
        if not ("o/behind" in bare and not behind):
            yield f"{title} without {bare} behind:{behind}", around(title, "uint8", None, behind, bare.split())


sys.exit(report(grid()))
