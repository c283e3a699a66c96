# SPDX-License-Identifier: Apache-2.0
"""A case of any operators and types by its seed."""
import copy

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..generate import Case, Skipped
from . import attention, bodies, codes, elements, microsoft, ml, moves, planes, products, recurrent, sums
from .sketch import Sketch, info, session

BODY_MAKERS = {**elements.MAKERS, **moves.MAKERS, **sums.MAKERS, **products.MAKERS, **bodies.MAKERS}
MAKERS = {**BODY_MAKERS, **planes.MAKERS, **recurrent.MAKERS, **codes.MAKERS, **attention.MAKERS, **microsoft.MAKERS, **ml.MAKERS}
DATA_DEPENDENT = {"If", "Loop", "Scan", "NonZero", "Compress", "Unique", "Range", "ConstantOfShape", "Expand", "Slice", "Reshape", "Tile",
                  "Pad", "Squeeze", "Shape", "OneHot", "TopK", "CenterCropPad", "Resize", "Split"}
# What ONNX Runtime makes of nothing is open: Expand broadcasts 0 against any size, MatMul of no terms is not written.
FILLED = {"Expand", "ArgMax", "ArgMin", "LogSoftmax", "Softmax", "Hardmax", "MatMul", "Gemm", "Einsum", "Gather", "GatherElements", "GatherND",
          "ScatterElements", "ScatterND", "RoiAlign", "QLinearAveragePool", "DynamicQuantizeLSTM", "LSTM", "GRU", "RNN", "RotaryEmbedding", "Concat", "QLinearConcat", "DFT", *sums.REDUCTIONS}
# Whose result ONNX Runtime leaves open where a number is NaN.
UNORDERED = {"if", "loop", "scan", "reduce", "distribution", "top_k", "arg", "unique", "pool", "global_pool", "unpool", "roi_align", "loss", "resize", "sample", "deform", "gather_elements", "gather_nd",
             "normalization", "group_norm", "einsum", "attention",
             "cast", "trees", "non_zero", "rows_by_data"}
VERSIONS = (11, 13, 13, 14, 16, 17, 18, 20, 21, 23, 23)


def draw_array(s, shape, kind):
    if kind.kind == "f":
        x = s.random.standard_normal(shape) * s.choose(1, 1, 3)
        if s.nonfinite and x.size:
            x = np.where(s.random.random(shape) < 0.1, s.choose(np.nan, np.inf, -np.inf), x)
        return np.asarray(x, kind)
    if kind.kind == "b":
        return np.asarray(s.random.random(shape) < 0.5)
    if s.extreme:
        ends = np.iinfo(kind)
        return np.asarray(s.random.choice(np.array([ends.min, ends.max, 0, 1, 2, ends.max // 2], kind), shape), kind)
    return np.asarray(s.random.integers(0 if kind.kind == "u" else -5, 9, shape), kind)


def draw_shape(s):
    rank = s.choose(0, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5)
    shape = [s.size(5 if rank > 3 else 9) for _ in range(rank)]
    if s.empty and shape:
        shape[0] = 0
    return tuple(shape)


def input_sets(s):
    """The drawn inputs, and others at other sizes."""
    sets = [{name: s.arrays[name] for name in s.inputs}]
    s.open = {name: () for name in s.inputs}
    if s.opens:
        s.open = {name: tuple(range(s.rank(name)))[:None if s.opens == "all" else 1] for name in s.inputs}
        sizes = {}
        for _ in range(s.choose(1, 2, 3)):
            sizes.clear()
            made = {}
            # Slice takes extents that are not known to be 1 at least.
            may_be_empty = s.chance(0.1) and not {*FILLED, "Slice"} & {n.proto.op_type for n in s.nodes}
            for name in s.inputs:
                shape = list(s.shape(name))
                for axis in s.open[name]:
                    key = shape[axis], axis == 0
                    sizes.setdefault(key, 0 if may_be_empty else s.choose(1, 2, 3, 5, shape[axis]))
                    shape[axis] = sizes[key]
                made[name] = draw_array(s, shape, s.type(name))
            sets.append(made)
    return sets


def declared(s, name):
    shape = [f"d{i}_{d}" if i in s.open.get(name, ()) else d for i, d in enumerate(s.shape(name))]
    return shape


def build(s, outputs):
    wanted, kept = set(outputs), []
    for node in reversed(s.nodes):
        if wanted & set(node.proto.output):
            kept.append(node)
            wanted.update(node.reads)
    kept.reverse()
    s.inputs = [name for name in s.inputs if name in wanted]
    if not s.inputs or not kept:
        raise Skipped("no input is used")
    infos = []
    for name in outputs:
        shape = None
        if s.chance(0.3):
            shape = [f"y{i}" for i in range(s.rank(name))]
        infos.append(info(name, s.array(name), shape))
    graph = helper.make_graph([n.proto for n in kept], "free", [info(n, s.array(n), declared(s, n)) for n in s.inputs], infos,
                              [numpy_helper.from_array(a, n) for n, a in s.constants.items() if n in wanted])
    # What operators say counts; behind those that few know what is declared is all that there is.
    if not s.opens and s.chance(0.2) and not {*DATA_DEPENDENT, "Quant", "BipolarQuant"} & {n.proto.op_type for n in kept}:
        for node in kept:
            for name in node.proto.output:
                if name and name not in outputs and s.chance(0.4) and s.rank(name):
                    shape = [d + s.choose(0, 1, 3) for d in s.shape(name)]
                    graph.value_info.append(info(name, s.array(name), shape))
    model = s.wrap(graph)
    spare = leave_out(s, model, wanted)
    return spare if spare is not None and runs(spare, {name: s.arrays[name] for name in s.inputs}) else model


def is_optional(node, index, opset):
    """ONNX Runtime ends the process where a kernel asks for an output that is not."""
    if node.domain or not onnx.defs.has(node.op_type, opset):
        return False
    outputs = onnx.defs.get_schema(node.op_type, opset).outputs
    return index < len(outputs) and outputs[index].option == onnx.defs.OpSchema.FormalParameterOption.Optional


def leave_out(s, model, wanted):
    """The model without the names of some outputs that nobody reads; None where it has none."""
    made = copy.deepcopy(model)
    for node in made.graph.node:
        for i, name in enumerate(node.output):
            if name and name not in wanted and is_optional(node, i, s.opset) and s.chance(0.7):
                node.output[i] = ""
    return None if made == model else made


def generate(seed):
    random = np.random.default_rng([seed, 23])
    s = Sketch(random, int(random.choice(VERSIONS)))
    s.nonfinite = s.chance(0.06)
    s.extreme = s.chance(0.15)
    s.empty = s.chance(0.06)
    s.opens = "" if s.empty else s.choose("", "", "", "first", "all")
    s.body_makers = BODY_MAKERS
    makers = {name: maker for name, maker in MAKERS.items() if not s.nonfinite or name not in {*UNORDERED, *codes.MAKERS, *recurrent.MAKERS, *attention.MAKERS, *microsoft.MAKERS}}
    s.moods = {name: float(random.exponential() ** 2) for name in MAKERS}
    return case_of(seed, s, makers, [np.float32] * 10 + [np.float64, np.float16, np.int64, np.int32, np.uint8, np.int8, np.bool_, np.uint32])


def case_of(seed, s, makers, kinds, sizes=(1, 2, 3, 4, 5, 6, 8)):
    """Draws inputs of these types and nodes, as many as one of `sizes`, on an empty sketch."""
    for _ in range(s.choose(1, 1, 2, 3)):
        kind = np.dtype(s.choose(*kinds))
        s.add_input(draw_array(s, draw_shape(s), kind))
    wanted = s.choose(*sizes)
    for _ in range(10 * wanted):
        if len(s.nodes) >= wanted:
            break
        s.extend(makers)
    if not s.nodes:
        raise Skipped("no node")
    read = {name for n in s.nodes for name in n.reads}
    made = [name for n in s.nodes for name in n.proto.output if name]
    leaves = [name for name in made if name not in read]
    between = [name for name in made if name in read]
    if between and s.chance(0.3):
        leaves.append(s.choose(*between))
    several = {name for n in s.nodes if len(n.proto.output) > 1 for name in n.proto.output}
    if s.chance(0.4):  # of nodes with several outputs not all are asked for
        leaves = [name for name in leaves if name not in several or s.chance(0.5)] or leaves
    leaves = leaves[-4:]
    sets = input_sets(s)
    model = build(s, leaves)
    sets = [{name: x[name] for name in s.inputs} for x in sets]
    if runs(model, sets[0]) and not tells_codes(model, sets[0]):
        raise Skipped("NaN would become a code")
    others = [x for x in sets[1:] if runs(model, x) and tells(model, x)]
    return Case(seed, model, [sets[0], *others], free=True)


def runs(model, inputs):
    try:
        session(model).run(None, inputs)
        return True
    except Exception:
        return False


def tells(model, inputs):
    """False also where ONNX Runtime has no values between: asked for them, it may give two of other sizes the same memory."""
    try:
        return fills(model, inputs) and tells_codes(model, inputs)
    except Exception:
        return False


def fills(model, inputs):
    """Whether no operator reads an empty value of whose result ONNX Runtime leaves the shape open: a Slice may have left nothing at this size."""
    bodies = {node.op_type for node in model.graph.node if {*FILLED} & set(inside(node))}
    given = [value for node in model.graph.node if node.op_type in bodies for name, value in inputs.items() if name in reads(node)]
    return all(np.size(value) for value in given + read_by(model, FILLED | bodies, inputs))


def tells_codes(model, inputs):
    """Whether no NaN becomes a code: which one is open."""
    return not any(np.isnan(value).any() for value in read_by(model, {"QuantizeLinear", "DynamicQuantizeLinear"}, inputs) if value.dtype.kind == "f")


def bodies_of(node):
    return [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]


def inside(node):
    """The operators of its bodies, and of bodies in them."""
    return [op for body in bodies_of(node) for inner in body.node for op in (inner.op_type, *inside(inner))]


def reads(node):
    """What it reads, through its bodies too."""
    return {*node.input, *(name for body in bodies_of(node) for inner in body.node for name in reads(inner))}


def read_by(model, ops, inputs):
    """What nodes of these operators read of what others make, as numbers."""
    made = {name for node in model.graph.node for name in node.output if name}
    read = sorted({name for node in model.graph.node if node.op_type in ops for name in reads(node)} & made)
    if not read:
        return []
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in read)
    return [np.asarray(value) for value in session(probe).run(None, inputs)]
