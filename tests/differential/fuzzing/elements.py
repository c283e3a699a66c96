# SPDX-License-Identifier: Apache-2.0
"""Makers of functions of elements, and of what moves elements."""
import numpy as np

from .sketch import Impossible


def clip(s, x):
    low, high = s.choose((0, 6), (-1, 1), (0.4, 6), (-0.5, 0.5), (None, 1.5), (-0.7, None), (0.1, 2), (-3, -0.2))
    if s.opset < 11:
        attributes = {k: float(v) for k, v in (("min", low), ("max", high)) if v is not None}
        return s.finish(s.node("Clip", [x], s.shape(x), **attributes))
    inputs = [x] + ["" if v is None else s.constant(np.float32(v)) for v in (low, high)]
    while inputs[-1] == "":
        inputs.pop()
    return s.finish(s.node("Clip", inputs, s.shape(x)))


def prelu(s, x):
    channels = [s.shape(x)[1]] + [1] * (s.rank(x) - 2) if s.rank(x) > 2 else [s.shape(x)[-1]]
    shape = s.choose(channels, channels, [1])
    return s.finish(s.node("PRelu", [x, s.constant((0.3 * s.random.standard_normal(shape)).astype(np.float32))],
                           s.shape(x)))


def dropout(s, x):
    if s.opset < 12:
        return s.finish(s.node("Dropout", [x], s.shape(x), ratio=0.3))
    return s.finish(s.node("Dropout", [x] + ([s.constant(np.float32(0.3))] if s.chance(0.5) else []), s.shape(x)))


def gelu_chain(s, x):
    """x / 2 * (1 + erf(x / sqrt(2))) in one of its spellings."""
    shape = s.shape(x)
    inner = s.node("Div", [x, s.constant(np.float32(np.sqrt(2)))], shape)
    one = s.node("Add", [s.node("Erf", [inner], shape), s.constant(np.float32(1))], shape)
    if s.chance(0.5):
        return s.finish(s.node("Mul", [s.node("Mul", [x, one], shape), s.constant(np.float32(0.5))], shape))
    return s.finish(s.node("Mul", [s.node("Mul", [x, s.constant(np.float32(0.5))], shape), one], shape))


def unary(s, x):
    ops = ["Relu", "Relu", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Erf", "Abs", "Neg", "Identity", "HardSigmoid", "Elu",
           "Softplus", "Selu", "Softsign", "swish", "mish", "hard_swish"]
    if s.opset >= 12:
        ops.append("Celu")
    if s.opset >= 14:
        ops.append("HardSwish")
    if s.opset >= 18:
        ops.append("Mish")
    if s.opset >= 20:
        ops.append("Gelu")
    op = s.choose(*ops)
    if op == "swish":
        return s.finish(s.node("Mul", [x, s.node("Sigmoid", [x], s.shape(x))], s.shape(x)))
    if op == "mish":
        gate = s.node("Tanh", [s.node("Softplus", [x], s.shape(x))], s.shape(x))
        return s.finish(s.node("Mul", [x, gate], s.shape(x)))
    if op == "hard_swish":
        gate = s.node("HardSigmoid", [x], s.shape(x), alpha=1 / 6, beta=0.5)
        return s.finish(s.node("Mul", [gate, x], s.shape(x)))
    attributes = {}
    if op in ("LeakyRelu", "Elu", "Celu") and s.chance(0.7):
        attributes["alpha"] = float(s.choose(0.1, 0.01, 0.3))
    if op == "Gelu" and s.chance(0.4):
        attributes["approximate"] = "tanh"
    return s.finish(s.node(op, [x], s.shape(x), **attributes))


def binary_constant(s, x):
    rank = s.rank(x)
    shapes = [(), (1,), (s.shape(x)[-1],)]
    if rank > 2:
        shapes += [(s.shape(x)[1],) + (1,) * (rank - 2)] * 2
    if not s.open_batch:
        shapes.append(s.shape(x))
    if x in s.open_planes:
        shapes = [(), (1,), (s.shape(x)[1], 1, 1)]
    shape = s.choose(*shapes)
    op = s.choose("Add", "Sub", "Mul", "Div", "Max", "Min")
    values = s.random.standard_normal(shape)
    if op == "Div":
        values = np.sign(values + 1e-9) * (0.5 + np.abs(values))
    other = s.constant(np.asarray(values, np.float32))
    swap = s.chance(0.3) and op not in ("Div",)
    return s.finish(s.node(op, [other, x] if swap else [x, other], s.shape(x)))


def binary(s, x):
    def fits(y):
        try:
            return np.broadcast_shapes(s.shape(x), s.shape(y))
        except ValueError:
            return None
    others = [v for v in s.values if fits(v) and (v in s.open_planes) == (x in s.open_planes)]
    if s.open_batch:
        others = [v for v in others if s.rank(v) == s.rank(x) and s.shape(v)[0] == s.shape(x)[0]]
    same = [v for v in others if s.shape(v) == s.shape(x)]
    y = s.choose(*(same if s.chance(0.7) else others))
    shape = fits(y)
    if np.prod(shape) > 4096:
        raise Impossible("large")
    op = s.choose("Add", "Add", "Add", "Sub", "Mul", "Max", "Min")
    return s.finish(s.node(op, [x, y][::s.choose(1, -1)], shape))


def where(s, x):
    others = [v for v in s.values if s.shape(v) == s.shape(x) and v not in s.open_planes]
    if x in s.open_planes:
        raise Impossible("open planes")
    shape = s.shape(x)[1:] if s.open_batch else s.shape(x)
    condition = s.constant(s.random.random(shape) < 0.5)
    other = s.choose(*others) if s.chance(0.6) else s.constant(np.float32(s.choose(0, -1, 0.7)))
    return s.finish(s.node("Where", [condition, x, other][:1] + [x, other][::s.choose(1, -1)], s.shape(x)))


def free_axis(s, x):
    """An axis that may be cut: not the open batch, not an open plane."""
    first = 1 if s.open_batch else 0
    last = 2 if x in s.open_planes else s.rank(x)
    return int(s.random.integers(first, last))


def axis_name(s, x, axis):
    return axis - s.rank(x) if s.opset >= 13 and s.chance(0.2) else axis


def concat(s, x):
    axis = 1 if s.chance(0.6) else free_axis(s, x)
    def agree(y):
        return (s.rank(y) == s.rank(x) and (y in s.open_planes) == (x in s.open_planes)
                and all(a == b for i, (a, b) in enumerate(zip(s.shape(x), s.shape(y))) if i != axis))
    others = [v for v in s.values if agree(v)]
    parts = [x] + [s.choose(*others) for _ in range(s.choose(1, 1, 2))]
    s.random.shuffle(parts)
    shape = list(s.shape(x))
    shape[axis] = sum(s.shape(p)[axis] for p in parts)
    if np.prod(shape) > 4096:
        raise Impossible("large")
    return s.finish(s.node("Concat", parts, shape, axis=axis_name(s, x, axis)))


def split(s, x):
    axis = free_axis(s, x)
    length = s.shape(x)[axis]
    if length < 2:
        raise Impossible("short")
    first = int(s.random.integers(1, length))
    sizes = [first, length - first]
    attributes = {"axis": axis}
    inputs = [x]
    if s.opset >= 13:
        inputs.append(s.axes(sizes))
    else:
        attributes["split"] = sizes
    shapes = [tuple(size if i == axis else d for i, d in enumerate(s.shape(x))) for size in sizes]
    return [s.finish(v) for v in s.node("Split", inputs, shapes, **attributes)][-1]


def slice_(s, x):
    axis = free_axis(s, x)
    length = s.shape(x)[axis]
    start = int(s.random.integers(0, length))
    stop = int(s.random.integers(start + 1, length + 1))
    step = s.choose(1, 1, 2)
    shape = list(s.shape(x))
    shape[axis] = -(-(stop - start) // step)
    if s.chance(0.15):  # backwards
        start, stop, step = length - 1, -length - 1, -1
        shape[axis] = length
    inputs = [x, s.axes([start]), s.axes([stop]), s.axes([axis]), s.axes([step])]
    return s.finish(s.node("Slice", inputs, shape))


def gather(s, x):
    axis = free_axis(s, x)
    indices = s.random.integers(0, s.shape(x)[axis], s.choose(1, 2, 3))
    shape = list(s.shape(x))
    shape[axis] = len(indices)
    return s.finish(s.node("Gather", [x, s.axes(indices)], shape, axis=axis))


def embedding(s, x):
    """Rows of a table, beside x where they fit; which ones, an input or a constant says."""
    rows, width = s.size(33), s.shape(x)[-1] if s.chance(0.7) else s.size(17)
    table = s.weights((rows, width), 1)
    if s.chance(0.5) and x not in s.open_planes and s.rank(x) > 1:
        shape = (s.shape(x)[0], *s.shape(x)[1:-1])
        ids = s.add_ids(shape, rows)
    else:
        shape = (s.shape(x)[-2] if x not in s.open_planes and s.rank(x) > 2 else 1,)
        ids = s.axes(s.random.integers(0, rows, shape))
        if s.open_batch:
            shape = (1, *shape)
            ids = s.constant(s.constants[ids].reshape(shape), "i")
    made = s.node("Gather", [table, ids], (*shape, width))
    try:
        joined = np.broadcast_shapes(s.shape(x), (*shape, width))
    except ValueError:
        joined = None
    if joined != s.shape(x) or s.rank(made) < 2:
        raise Impossible("shape")
    return s.finish(s.node("Add", [x, made][::s.choose(1, -1)], joined))


def pad(s, x):
    rank = s.rank(x)
    first = 1 if s.open_batch else 0
    pads = [0] * (2 * rank)
    for axis in range(max(first, 1 if s.chance(0.8) else 0), rank):
        if s.chance(0.6):
            pads[axis], pads[axis + rank] = int(s.random.integers(0, 3)), int(s.random.integers(0, 3))
    value = float(s.choose(0, 0, 1.5, -0.3))
    mode = s.choose("constant", "constant", "constant", "edge", "reflect")
    if mode == "reflect" and any(p >= d for p, d in zip(pads[:rank] + pads[rank:], s.shape(x) * 2)):
        raise Impossible("reflection")
    shape = [d + pads[i] + pads[i + rank] for i, d in enumerate(s.shape(x))]
    if np.prod(shape) > 4096:
        raise Impossible("large")
    if s.opset < 11:
        return s.finish(s.node("Pad", [x], shape, mode=mode, pads=pads, value=value))
    inputs = [x, s.axes(pads)]
    if mode == "constant" and (value != 0 or s.chance(0.3)):
        inputs.append(s.constant(np.float32(value)))
    return s.finish(s.node("Pad", inputs, shape, mode=mode))


def transpose(s, x):
    if x in s.open_planes:
        raise Impossible("open planes")
    rest = list(range(1, s.rank(x)))
    s.random.shuffle(rest)
    perm = [0] + [int(i) for i in rest]
    if not s.open_batch and s.chance(0.2):
        perm = [int(i) for i in s.random.permutation(s.rank(x))]
    return s.finish(s.node("Transpose", [x], tuple(s.shape(x)[i] for i in perm), perm=perm))


def reshape(s, x):
    if x in s.open_planes:
        raise Impossible("open planes")
    batch, *rest = s.shape(x)
    count = int(np.prod(rest))
    if s.rank(x) > 2 and s.chance(0.3):
        axis = s.choose(0, 2) if not s.open_batch and s.chance(0.2) else 1
        first = int(np.prod(s.shape(x)[:axis]))
        attributes = {} if axis == 1 and s.chance(0.5) else {"axis": axis}
        return s.finish(s.node("Flatten", [x], (first, batch * count // first), **attributes))
    sizes = []
    for _ in range(s.choose(0, 1, 1, 2)):
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        sizes.append(int(s.choose(*divisors)))
        count //= sizes[-1]
    sizes.append(count)
    target = [s.choose(0, -1) if s.open_batch else s.choose(0, batch), *sizes]
    if target[0] == 0 and s.chance(0.3):
        target[-1] = -1
    return s.finish(s.node("Reshape", [x, s.axes(target)], (batch, *sizes)))


def unsqueeze(s, x):
    if s.rank(x) > 3 or x in s.open_planes:
        raise Impossible("rank")
    axis = int(s.random.integers(1, s.rank(x) + 1))
    shape = list(s.shape(x))
    shape.insert(axis, 1)
    if s.opset >= 13:
        return s.finish(s.node("Unsqueeze", [x, s.axes([axis])], shape))
    return s.finish(s.node("Unsqueeze", [x], shape, axes=[axis]))


def squeeze(s, x):
    axes = [i for i, d in enumerate(s.shape(x)) if d == 1 and i > 0]
    if not axes or s.rank(x) < 3 or x in s.open_planes:
        raise Impossible("rank")
    axis = int(s.choose(*axes))
    shape = [d for i, d in enumerate(s.shape(x)) if i != axis]
    if s.opset >= 13:
        return s.finish(s.node("Squeeze", [x, s.axes([axis])], shape))
    return s.finish(s.node("Squeeze", [x], shape, axes=[axis]))


def reduce(s, x):
    axes = sorted({int(s.random.integers(1, s.rank(x))) for _ in range(s.choose(1, 2))})
    if s.rank(x) == 4 and (s.chance(0.4) or x in s.open_planes):
        axes = [2, 3]
    keep = s.rank(x) - len(axes) < 2 or s.chance(0.5)
    op = s.choose("ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2")
    if x in s.open_planes:
        op = "ReduceMean"
    shape = [1 if i in axes else d for i, d in enumerate(s.shape(x)) if keep or i not in axes]
    names = [a - s.rank(x) for a in axes] if s.opset >= 11 and s.chance(0.3) else axes
    if s.opset >= (13 if op == "ReduceSum" else 18):
        return s.finish(s.node(op, [x, s.axes(names)], shape, keepdims=int(keep)))
    return s.finish(s.node(op, [x], shape, axes=names, keepdims=int(keep)))


def expand(s, x):
    axes = [i for i, d in enumerate(s.shape(x)) if d == 1 and i > 0]
    if not axes or s.open_batch or x in s.open_planes:
        raise Impossible("no axis of 1")
    shape = list(s.shape(x))
    axis = s.choose(*axes)
    shape[axis] = s.choose(2, 3)
    if s.chance(0.5):
        return s.finish(s.node("Expand", [x, s.axes(shape)], shape))
    repeats = [1] * len(shape)
    repeats[axis] = shape[axis]
    return s.finish(s.node("Tile", [x, s.axes(repeats)], shape))


MAKERS = {"clip": (clip, 1.2), "prelu": (prelu, 0.5), "dropout": (dropout, 0.4), "gelu_chain": (gelu_chain, 0.4),
          "unary": (unary, 3), "binary_constant": (binary_constant, 1.5), "binary": (binary, 2.5), "where": (where, 0.4),
          "concat": (concat, 1.2), "split": (split, 0.6), "slice": (slice_, 0.8), "gather": (gather, 0.4),
          "embedding": (embedding, 0.5), "pad": (pad, 0.7),
          "transpose": (transpose, 1), "reshape": (reshape, 1.2), "unsqueeze": (unsqueeze, 0.4), "squeeze": (squeeze, 0.6),
          "reduce": (reduce, 0.8), "expand": (expand, 0.3)}
