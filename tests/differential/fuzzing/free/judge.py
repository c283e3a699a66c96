# SPDX-License-Identifier: Apache-2.0
"""Bounds of a free graph: what ONNX Runtime makes of inputs and constants that are a little off says how far rounding may lead. Where that
changes a shape or an integer the graph tells nothing."""
import copy

import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference

from ..plain import for_onnxruntime
from ..spelled import graphs_of, interpolates
from .sketch import ENDING, session

RUNS = 6
MOST = 1 << 14  # elements of a drawn tensor, with room
MORE_RUNS = 40  # before a difference is a finding: at a tie each run is a coin, and six may fall on one side


class Unstable(Exception):
    """Rounding alone changes a shape, an integer, what is finite or what is refused."""


def disturbed(random, inputs, amount):
    return {name: x if x.dtype.kind != "f" else np.asarray(x * (1 + amount * random.uniform(-1, 1, x.shape)), x.dtype)
            for name, x in inputs.items()}


# What is exact in front of them, as 0 and 1, is rounded behind them, one way for all executors or not; and what takes one of several
# that are equal but for that.
INEXACT = ("Softmax", "LogSoftmax", "Exp", "Log", "Sqrt", "Reciprocal", "Div", "Pow", "Sin", "Cos", "ReduceMean", "ReduceSum", "ReduceL2",
           "ReduceLogSum", "ReduceLogSumExp", "LayerNormalization", "InstanceNormalization", "LpNormalization", "MeanVarianceNormalization",
           "AveragePool", "GlobalAveragePool")
PICKING = ("Hardmax", "ArgMax", "ArgMin", "TopK", "Unique")


def put_behind(graph, opset, at, op, kind, off):
    """What the node at `at` makes, each element with a number of its own from `off`: where many elements are at ties, some round
    up and others down."""
    node = graph.node[at]
    result = node.output[0]
    exact, all_, zero, size, shape, some, own = (f"{result}/{part}" for part in ("exact", "off", "zero", "size", "shape", "some", "own"))
    node.output[0] = exact
    graph.initializer.extend([numpy_helper.from_array(off.astype(helper.tensor_dtype_to_np_dtype(kind)), all_),
                              numpy_helper.from_array(np.array([0]), zero), numpy_helper.from_array(np.array([-1]), zero + "/all")])
    empty_stays = {"allowzero": 1} if opset > 13 else {}
    for k, made in enumerate([helper.make_node("Size", [exact], [size + "/scalar"]),
                              helper.make_node("Reshape", [size + "/scalar", zero + "/all"], [size]),
                              helper.make_node("Shape", [exact], [shape]),
                              helper.make_node("Slice", [all_, zero, size], [some]),
                              helper.make_node("Reshape", [some, shape], [own], **empty_stays),
                              helper.make_node(op, [exact, own], [result])]):
        graph.node.insert(at + 1 + k, made)


def disturb_made(random, model, amount):
    """What some operators make is a little off, since their rounding has one sign in all runs otherwise: 0 in what transforms make, and
    means of equal numbers."""
    graph, opset = model.graph, model.opset_import[0].version
    inferred = shape_inference.infer_shapes(model).graph
    ties = any(n.op_type in PICKING for n in graph.node)
    types = {v.name: v.type.tensor_type.elem_type for v in (*graph.input, *inferred.value_info, *inferred.output)}
    for at, node in reversed(list(enumerate(graph.node))):
        kind = types.get(node.output[0])
        mode = next((a.s for a in node.attribute if a.name == "mode"), b"nearest")
        if node.op_type in ("DFT", "STFT"):
            put_behind(graph, opset, at, "Add", TensorProto.FLOAT, 1e-5 * random.uniform(-1, 1, MOST))
        elif node.op_type in ENDING and (kind or types.get(node.input[0])) == TensorProto.FLOAT:
            put_behind(graph, opset, at, "Add", TensorProto.FLOAT, 3e-7 * random.uniform(-1, 1, MOST))
        elif ties and node.op_type in INEXACT and kind == TensorProto.FLOAT:
            put_behind(graph, opset, at, "Mul", kind, 1 + 3e-7 * random.uniform(-1, 1, MOST))
        elif node.op_type == "Resize" and mode != b"nearest" and not is_cast(graph, node.input[0]) and kind in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE):
            put_behind(graph, opset, at, "Mul", kind, 1 + amount * random.uniform(-1, 1, MOST))
    for part in graphs_of(graph):
        for at, node in reversed(list(enumerate(part.node))):
            if interpolates(node) and is_cast(part, node.input[0]):  # bytes: the weights are floats, times up to 255
                put_behind(part, opset, at, "Add", TensorProto.FLOAT, 3e-4 * random.uniform(-1, 1, MOST))


def is_cast(graph, name):
    return any(n.op_type == "Cast" and n.output[0] == name and n.attribute[0].i == TensorProto.FLOAT for n in graph.node)


def disturbed_model(random, model, amount):
    """Its float constants a little off, but those that say sizes."""
    sizes = {name for n in model.graph.node if n.op_type in ("Resize", "Range") for name in n.input}
    out = copy.deepcopy(model)
    for tensor in out.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f" and tensor.name not in sizes:
            tensor.CopyFrom(numpy_helper.from_array(disturbed(random, {"": array}, amount)[""], tensor.name))
    disturb_made(random, out, amount)
    return out


def run_disturbed(made, inputs):
    try:
        return made.run(None, inputs)
    except Exception as refused:  # ONNX Runtime's own classes have no other base
        raise Unstable("what is refused") from refused


def has_halves(graph):
    """Bodies count: ONNX Runtime may leave out the rounding where it has no kernel for halves."""
    return any(t.type.tensor_type.elem_type == 10 for t in (*graph.input, *graph.output)) or any(
        (a.name == "to" and a.i == 10) or has_halves(a.g) for n in graph.node for a in n.attribute) or any(
        t.data_type == 10 for t in graph.initializer)


def bounds(case, runs):
    """({(set, output): value}, {(set, output): error}) by ONNX Runtime, which may refuse, and as many disturbed runs."""
    random = np.random.default_rng([case.seed, 31])
    halves = has_halves(case.model.graph)
    amount, floor = (2e-3, 4e-3) if halves else (1e-6, 1e-5)
    if any(n.op_type == "DFT" for n in case.model.graph.node):
        floor = max(floor, 1e-3)  # ONNX Runtime's angles are float32, and large at the end of a row
    if any(n.op_type in ("LpPool", "GlobalLpPool") for n in case.model.graph.node):
        floor = max(floor, 3e-5)  # its roots are powers to a float32 next to 1 / p
    values, errors = {}, {}
    made = session(case.model)
    standing = for_onnxruntime(case.model)
    try:
        others = [session(disturbed_model(random, standing, amount)) for _ in range(runs)]
    except Exception as refused:  # before operator set 14 no Reshape makes an empty tensor of every shape
        raise Unstable("an empty tensor that cannot be disturbed") from refused
    for at, inputs in enumerate(case.sets):
        exact = made.run(None, inputs)
        spread = [np.zeros(np.shape(y)) for y in exact]
        for other in others:
            for k, (y, z) in enumerate(zip(exact, run_disturbed(other, disturbed(random, inputs, amount)))):
                y, z = np.asarray(y), np.asarray(z)
                if y.shape != z.shape or (y.dtype.kind in "ib" and y.dtype != np.int8 and (y != z).any()):
                    raise Unstable("an integer or a shape")
                if y.dtype.kind == "f" and (np.isfinite(y) != np.isfinite(z)).any():
                    raise Unstable("what is finite")
                with np.errstate(invalid="ignore"):
                    off = np.nan_to_num(np.abs(y.astype(np.float64) - z.astype(np.float64)), nan=0.0, posinf=0.0)
                spread[k] = np.maximum(spread[k], off)
        for k, y in enumerate(exact):
            y = np.asarray(y)
            values[at, k] = y
            size = np.nan_to_num(np.abs(y.astype(np.float64)), nan=0.0, posinf=0.0)
            errors[at, k] = np.zeros(y.shape)
            if y.dtype.kind == "f":
                errors[at, k] = 6 * spread[k] + spread[k].mean() + floor * (size + size.mean() / 3) + floor if y.size else spread[k]
            elif spread[k].any():
                errors[at, k] = spread[k].max() + np.zeros(y.shape)
    return values, errors
