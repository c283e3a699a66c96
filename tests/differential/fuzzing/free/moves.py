# SPDX-License-Identifier: Apache-2.0
"""What moves, picks and scatters elements, and extents that depend on data."""
import numpy as np
from onnx import numpy_helper

from ..sketch import Impossible


def axis_of(s, x):
    rank = s.rank(x)
    if rank == 0:
        raise Impossible("scalar")
    axis = s.integer(0, rank - 1)
    return axis, (axis - rank if s.chance(0.3) else axis)


def transpose(s, x):
    rank = s.rank(x)
    if rank == 0:
        raise Impossible("scalar")
    return s.play("Transpose", [x], **({} if s.chance(0.2) else {"perm": [int(i) for i in s.random.permutation(rank)]}))


def sizes_of(s, count):
    sizes = []
    for _ in range(s.choose(0, 1, 1, 2, 3)):
        sizes.append(int(s.choose(*[d for d in range(1, max(count, 1) + 1) if count % d == 0][:40])))
        count //= max(sizes[-1], 1)
    return sizes + [count]


def reshape(s, x):
    array = s.need(x, "fdhiub")
    sizes = sizes_of(s, array.size)
    if s.chance(0.5):
        sizes[s.integer(0, len(sizes) - 1)] = -1
    return s.play("Reshape", [x, s.ints(sizes)])


def reshape_by_shape(s, x):
    """To sizes that are computed from the shape: what exporters write."""
    s.need(x, "fdhiub", ranks=(1, 2, 3, 4, 5))
    shape = s.play("Shape", [x])
    first = s.play("Gather", [shape, s.ints([0])], axis=0)
    target = s.play("Concat", [first, s.ints([-1])], axis=0)
    return s.play("Reshape", [x, target])


def squeeze(s, x):
    array = s.array(x)
    if s.chance(0.5) and array.ndim < 5:
        axis = s.integer(0, array.ndim)
        return s.play("Unsqueeze", [x, s.ints([axis])]) if s.opset >= 13 else s.play("Unsqueeze", [x], axes=[axis])
    axes = [i for i, d in enumerate(array.shape) if d == 1]
    if not axes:
        raise Impossible("no axis of 1")
    if s.chance(0.3) and not s.opens:  # of outputs the rank is declared
        return s.play("Squeeze", [x])
    axes = [int(s.choose(*axes))]
    return s.play("Squeeze", [x, s.ints(axes)]) if s.opset >= 13 else s.play("Squeeze", [x], axes=axes)


def slice_(s, x):
    axis, named = axis_of(s, x)
    length = s.shape(x)[axis]
    step = s.choose(1, 1, 2, 3, -1, -2)
    start, stop = s.integer(-length - 1, length), s.choose(s.integer(-length - 1, length), s.integer(-length - 1, length),
                                                           2**31 - 1 if step > 0 else -2**31)
    return s.play("Slice", [x, s.ints([start]), s.ints([stop]), s.ints([named]), s.ints([step])])


def pad(s, x):
    array = s.need(x, "fdiu", ranks=(1, 2, 3, 4, 5))
    if s.opset < 13 and array.dtype.char != "f":
        raise Impossible("version")
    mode = s.choose("constant", "edge", "reflect", *(["wrap"] if s.opset >= 19 else []))
    low = -1 if mode == "constant" else 0
    pads = [s.integer(low, 2) if s.chance(0.5) else 0 for _ in range(2 * array.ndim)]
    if mode == "reflect" and any(p >= d for p, d in zip(pads, array.shape * 2)):
        raise Impossible("reflection")
    if mode == "wrap" and any(p > d for p, d in zip(pads, array.shape * 2)):
        raise Impossible("more than once around")
    inputs = [x, s.ints(pads)]
    if mode == "constant" and s.chance(0.4):
        inputs.append(s.constant(array.dtype.type(3)))
    return s.play("Pad", inputs, mode=mode)


def concat(s, x):
    axis, named = axis_of(s, x)
    array = s.array(x)

    def fits(y):
        return (y.dtype == array.dtype and y.ndim == array.ndim
                and all(a == b for i, (a, b) in enumerate(zip(y.shape, array.shape)) if i != axis))
    parts = [x] + [s.another(fits) for _ in range(s.choose(1, 1, 2))]
    s.random.shuffle(parts)
    return s.play("Concat", parts, axis=named)


def split(s, x):
    axis, named = axis_of(s, x)
    length = s.shape(x)[axis]
    if length < 2:
        raise Impossible("short")
    first = s.integer(0, length)
    if s.opset >= 18 and s.chance(0.3):
        return s.play("Split", [x], 2, axis=named, num_outputs=2)[1]
    if s.opset >= 13:
        return s.play("Split", [x, s.ints([first, length - first])], 2, axis=named)[0]
    return s.play("Split", [x], 2, axis=named, split=[first, length - first])[0]


def expand(s, x):
    array = s.array(x)
    if s.chance(0.5):
        return s.play("Tile", [x, s.ints([s.choose(1, 1, 2, 0, 3) for _ in array.shape])])
    shape = [s.choose(1, 2, 3) if d == 1 else s.choose(1, d) for d in array.shape]
    return s.play("Expand", [x, s.ints(([2] if s.chance(0.2) and array.ndim < 5 else []) + shape)])


def gather(s, x):
    axis, named = axis_of(s, x)
    array = s.need(x, "fdhiub")
    length = array.shape[axis]
    shape = s.choose((), (1,), (3,), (2, 2))
    kind = s.choose(np.int64, np.int64, np.int32)
    indices = s.constant(s.random.integers(-length, length, shape).astype(kind))
    return s.play("Gather", [x, indices], axis=named)


def gather_elements(s, x):
    axis, named = axis_of(s, x)
    array = s.need(x, "fdhiub")
    length = array.shape[axis]
    shape = tuple(s.integer(1, 4) if i == axis else s.integer(1, d) for i, d in enumerate(array.shape))
    indices = s.constant(s.random.integers(-length, length, shape).astype(s.choose(np.int64, np.int32)))
    if s.chance(0.5):
        return s.play("GatherElements", [x, indices], axis=named)
    reduction = s.choose("none", *(["add", "mul"] if s.opset >= 16 else []), *(["max", "min"] if s.opset >= 18 else []))
    if array.dtype.kind == "b" and reduction != "none":
        raise Impossible("bool")
    if reduction == "none":  # which of two writes stands is open
        order = np.argsort(s.random.random(shape), axis=axis).astype(np.int64)
        if shape[axis] > length:
            raise Impossible("twice")
        indices = s.constant(order % length)
    updates = (s.random.standard_normal(shape) * 3).astype(array.dtype)
    attributes = {"reduction": reduction} if s.opset >= 16 else {}
    return s.play("ScatterElements", [x, indices, s.constant(updates)], axis=named, **attributes)


def gather_nd(s, x):
    array = s.need(x, "fdhiub", ranks=(1, 2, 3, 4))
    batch = s.choose(0, 0, 1) if array.ndim > 1 and s.opset >= 12 and not s.opens else 0
    depth = s.integer(1, array.ndim - batch)
    lead = array.shape[:batch] + s.choose((), (2,), (3, 1))
    indices = np.stack([s.random.integers(-array.shape[batch + i], array.shape[batch + i], lead) for i in range(depth)], -1)
    if s.chance(0.6) or batch:
        return s.play("GatherND", [x, s.ints(indices)], **({"batch_dims": batch} if batch else {}))
    reduction = s.choose("none", *(["add", "mul"] if s.opset >= 16 else []), *(["max", "min"] if s.opset >= 18 else []))
    if reduction == "none" or array.dtype.kind == "b":
        indices = indices.reshape(-1, depth)[:1]
        reduction = "none"
    updates = (3 * s.random.standard_normal(indices.shape[:-1] + array.shape[depth:])).astype(array.dtype)
    attributes = {"reduction": reduction} if s.opset >= 16 else {}
    return s.play("ScatterND", [x, s.ints(indices), s.constant(updates)], **attributes)


def compress(s, x):
    axis, named = axis_of(s, x)
    s.need(x, "fdhiub")
    if s.opens:
        raise Impossible("a condition longer than the axis means nothing")
    condition = s.another(lambda y: y.dtype == bool and y.ndim == 1)
    if condition is None:
        condition = s.constant(s.random.random(s.shape(x)[axis]) < 0.6)
    attributes = {} if s.chance(0.2) else {"axis": named}
    if s.array(condition).size > (s.shape(x)[axis] if attributes else s.array(x).size):
        raise Impossible("reads beyond the axis")
    return s.play("Compress", [x, condition], **attributes)


def non_zero(s, x):
    """Where a mask holds, and what lies there."""
    array = s.need(x, "f", ranks=(1, 2, 3))
    mask = s.play("Greater", [x, s.constant(np.float32(0.1))])
    places = s.play("NonZero", [mask])
    if s.chance(0.3):
        return places
    picked = s.play("GatherND", [x, s.play("Transpose", [places], perm=[1, 0])])
    if s.chance(0.5):
        count = s.play("Unsqueeze", [picked, s.ints([0])]) if s.opset >= 13 else s.play("Unsqueeze", [picked], axes=[0])
        return s.play("MatMul", [s.numbers((3, 1), array.dtype), count])
    return picked


def rows_by_data(s, x):
    """As many rows as the numbers say, then what later nodes make of them."""
    s.need(x, "f", ranks=(2, 3, 4))
    score = s.play("Gather", [s.play("Reshape", [x, s.ints([0, -1])]), s.ints(0)], axis=1)
    if s.chance(0.5):
        mask = s.play("Greater", [score, s.constant(np.float32(s.choose(-0.5, 0, 5)))])
        return s.play("Compress", [x, mask], axis=0)
    count = s.play("NonZero", [s.play("Greater", [score, s.constant(np.float32(0))])])
    count = s.play("Slice", [s.play("Shape", [count]), s.ints([1]), s.ints([2])])
    if s.chance(0.5):
        return s.play("Slice", [x, s.ints([0]), count, s.ints([0])])
    scalar = s.play("Squeeze", [count])
    steps = s.play("Range", [s.ints(0), scalar, s.ints(1)])
    return s.play("Gather", [x, steps], axis=0)


def unique(s, x):
    array = s.need(x, "iu" if s.chance(0.5) else "f", ranks=(1, 2, 3))
    if array.dtype.kind == "f":
        x = s.play("Round", [x])
    attributes = {} if s.chance(0.5) else {"axis": s.integer(0, array.ndim - 1)}
    return s.play("Unique", [x], [1, *[int(s.chance(0.5)) for _ in range(3)]], sorted=int(s.chance(0.8)), **attributes)[0]


def shapes(s, x):
    kind = s.integer(0, 4)
    if kind == 0:
        attributes = {"start": s.integer(-2, 1), "end": s.integer(0, 4)} if s.opset >= 15 and s.chance(0.5) else {}
        return s.play("Shape", [x], **attributes)
    if kind == 1:
        return s.play("Size", [x])
    if kind == 2:
        value = numpy_helper.from_array(np.array([s.choose(0, 2)], s.choose(np.float32, np.int64, np.float64)))
        return s.play("ConstantOfShape", [s.play("Shape", [x])], value=value)
    if kind == 3:
        s.need(x, "fdiu", ranks=(2,), filled=False)
        return s.play("EyeLike", [x], k=s.integer(-2, 2))
    kind = s.choose(np.float32, np.int64, np.int32, np.float64)
    ends = [s.constant(kind(v)) for v in (s.integer(-3, 3), s.integer(-3, 9), s.choose(1, 2, -1, 3))]
    return s.play("Range", ends)


def one_hot(s, x):
    array = s.need(x, "i", ranks=(0, 1, 2))
    if array.dtype == np.int8:
        raise Impossible("type")
    kind = s.choose(np.float32, np.int64)
    attributes = {"axis": s.integer(-array.ndim - 1, array.ndim)}
    depth = s.constant(np.int64(s.integer(1, 5)))
    return s.play("OneHot", [x, depth, s.constant(np.array([0, 3], kind))], **attributes)


def top_k(s, x):
    axis, named = axis_of(s, x)
    s.need(x, "fdi")
    if s.type(x) == np.int8 or s.blends() or s.fades():
        raise Impossible("type")
    k = s.ints([s.integer(0, s.shape(x)[axis])])
    return s.play("TopK", [x, k], 2, axis=named, largest=int(s.chance(0.6)))[0]


def arg(s, x):
    axis, named = axis_of(s, x)
    s.need(x, "fdi")
    if s.opens or s.blends() or s.fades():
        raise Impossible("of nothing ONNX Runtime gives another shape")
    attributes = {"select_last_index": int(s.chance(0.5))} if s.opset >= 12 else {}
    return s.play(s.choose("ArgMax", "ArgMin"), [x], axis=named, keepdims=int(s.chance(0.5)), **attributes)


def trilu(s, x):
    s.need(x, "fdib", ranks=(2, 3, 4), filled=False)
    if s.opset < 14:
        raise Impossible("version")
    return s.play("Trilu", [x] + ([s.constant(np.int64(s.integer(-3, 3)))] if s.chance(0.6) else []), upper=int(s.chance(0.5)))


def reverse_sequence(s, x):
    array = s.need(x, "fdi", ranks=(2, 3, 4))
    time = s.choose(0, 1)
    lengths = s.random.integers(1, array.shape[time] + 1, array.shape[1 - time])
    return s.play("ReverseSequence", [x, s.ints(lengths)], time_axis=time, batch_axis=1 - time)


def crop(s, x):
    array = s.need(x, "fdi", ranks=(1, 2, 3, 4))
    if s.opset < 18:
        raise Impossible("version")
    axis, named = axis_of(s, x)
    return s.play("CenterCropPad", [x, s.ints([s.integer(1, array.shape[axis] + 3)])], axes=[named])


def blocks(s, x):
    array = s.need(x, "fd", ranks=(4,))
    _, channels, height, width = array.shape
    if channels % 4 == 0 and s.chance(0.6):
        return s.play("DepthToSpace", [x], blocksize=2, mode=s.choose("DCR", "CRD"))
    if height % 2 or width % 2:
        raise Impossible("odd")
    return s.play("SpaceToDepth", [x], blocksize=2)


def blocks_by_hand(s, x):
    """Channels interleaved, pixels from channels or channels from pixels, by Reshape and Transpose."""
    array = s.need(x, "fdhiub", ranks=(4,))
    batch, channels, height, width = array.shape
    kind = s.choose("channels", "to pixels", "to pixels", "to channels")
    if s.opens == "all" or (kind == "to pixels" and channels % 4) or (kind == "to channels" and (height % 2 or width % 2)):
        raise Impossible("open planes, or odd")
    if kind == "channels":
        groups = int(s.choose(*(g for g in range(1, channels + 1) if channels % g == 0)))
        split, perm, shape = [groups, channels // groups, height, width], [0, 2, 1, 3, 4], [channels, height, width]
    elif kind == "to pixels":
        out = channels // 4
        split, perm = s.choose(([out, 2, 2, height, width], [0, 1, 4, 2, 5, 3]), ([2, 2, out, height, width], [0, 3, 4, 1, 5, 2]))
        shape = [out, 2 * height, 2 * width]
    else:
        split, perm = [channels, height // 2, 2, width // 2, 2], s.choose([0, 1, 3, 5, 2, 4], [0, 3, 5, 1, 2, 4])
        shape = [4 * channels, height // 2, width // 2]
    y = s.play("Reshape", [x, s.ints([0, *split])])
    return s.play("Reshape", [s.play("Transpose", [y], perm=perm), s.ints([s.choose(0, -1), *shape])])


MAKERS = {"transpose": (transpose, 1), "reshape": (reshape, 1), "reshape_by_shape": (reshape_by_shape, 0.5), "squeeze": (squeeze, 0.8),
          "slice": (slice_, 1), "pad": (pad, 0.7), "concat": (concat, 1), "split": (split, 0.6), "expand": (expand, 0.7),
          "gather": (gather, 0.7), "gather_elements": (gather_elements, 0.7), "gather_nd": (gather_nd, 0.6),
          "compress": (compress, 0.5), "non_zero": (non_zero, 0.8), "rows_by_data": (rows_by_data, 1.2), "unique": (unique, 0.4),
          "shapes": (shapes, 0.6), "one_hot": (one_hot, 0.3), "top_k": (top_k, 0.5), "arg": (arg, 0.5), "trilu": (trilu, 0.3),
          "reverse_sequence": (reverse_sequence, 0.3), "crop": (crop, 0.3), "blocks": (blocks, 0.3), "blocks_by_hand": (blocks_by_hand, 0.6)}
