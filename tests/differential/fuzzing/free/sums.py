# SPDX-License-Identifier: Apache-2.0
"""Reductions, running sums, normalizations, distributions and losses."""
import numpy as np

from ..sketch import Impossible
from .moves import axis_of

REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2",
              "ReduceLogSumExp", "ReduceLogSum"]


def is_nearly_even(array, axes):
    """Whether some numbers that share a mean hardly differ from it: their difference has no digits left."""
    return (array.std(axes) < 0.05 * np.abs(array).max(axes)).any()


def reduce(s, x):
    array = s.need(x, "fdi", ranks=(0, 1, 2, 3, 4, 5))
    if array.dtype == np.int8:
        raise Impossible("type")
    op = s.choose(*REDUCTIONS)
    if array.dtype.kind == "i" and op not in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"):
        raise Impossible("type")
    if op in ("ReduceMax", "ReduceMin") and s.may_be_long(x):
        raise Impossible("ONNX Runtime compares halves")
    if s.extreme and array.dtype.kind == "i" and op in ("ReduceSum", "ReduceMean", "ReduceProd"):
        raise Impossible("ONNX Runtime wraps or saturates")
    if array.dtype.kind == "i" and op in ("ReduceSum", "ReduceMean", "ReduceProd") and s.depth and np.abs(array.astype(np.float64)).max(initial=0) > 500:
        raise Impossible("what a loop carries grows from turn to turn")
    if op == "ReduceProd" and array.dtype.kind == "i" and (
            array.size > 12 or s.opens or s.depth or np.prod(np.maximum(np.abs(array.astype(np.float64)), 1)) >= 2**31):
        raise Impossible("the same")
    if s.opens and s.holds("NonZero", "Compress", "Unique"):
        raise Impossible("of nothing ONNX Runtime gives another shape")
    if s.opens and s.holds("If"):
        raise Impossible("of a number ONNX Runtime takes any axis, and branches may differ in rank")
    if op == "ReduceLogSum":
        x = s.play("Add", [s.play("Abs", [x]), s.constant(array.dtype.type(0.5))])
    keep = int(s.chance(0.5))
    axes = sorted({s.integer(0, array.ndim - 1) for _ in range(s.choose(1, 1, 2, 3))}) if array.ndim else []
    axes = [a - array.ndim if s.chance(0.3) else a for a in axes]
    by_input = s.opset >= (13 if op == "ReduceSum" else 18)
    if s.chance(0.15) or not axes:
        if by_input and s.chance(0.4):
            return s.play(op, [x] + ([s.ints([])] if s.chance(0.5) else []), keepdims=keep, noop_with_empty_axes=1)
        return s.play(op, [x], keepdims=keep)
    return s.play(op, [x, s.ints(axes)], keepdims=keep) if by_input else s.play(op, [x], keepdims=keep, axes=axes)


def cum_sum(s, x):
    axis, named = axis_of(s, x)
    s.need(x, "fdi", filled=False)
    if s.type(x) == np.int8:
        raise Impossible("type")
    axis = s.constant(s.choose(np.int64, np.int32)(named))
    return s.play("CumSum", [x, axis], exclusive=int(s.chance(0.4)), reverse=int(s.chance(0.4)))


def distribution(s, x):
    axis, named = axis_of(s, x)
    array = s.need(x, "fd")
    op = s.choose("Softmax", "LogSoftmax", "Hardmax")
    attributes = {} if s.chance(0.2) else {"axis": axis if s.opset < 11 else named}
    if op == "Hardmax" and s.blends():
        raise Impossible("rounding tells which is the largest")
    if op == "Hardmax":
        if not attributes:
            axis = 1 if s.opset < 13 else array.ndim - 1
        lines = np.moveaxis(array, axis, -1) if s.opset >= 13 else array.reshape(*array.shape[:axis], -1)
        two = np.sort(lines.astype(np.float64), -1)[..., -2:]
        if two.shape[-1] == 2 and (two[..., 1] - two[..., 0] <= 1e-4 * np.abs(two).max(-1)).any():
            raise Impossible("rounding tells which is the largest")
    return s.play(op, [x], **attributes)


def spelled_out_group_norm(s, x):
    """As PyTorch's exporter writes it: groups are the channels of an InstanceNormalization without gains."""
    array = s.need(x, "f", ranks=(3, 4, 5))
    channels = array.shape[1]
    if s.opens == "all":
        raise Impossible("groups of one number")
    groups = s.choose(*(g for g in range(1, channels + 1) if channels % g == 0))
    planes = array.reshape(array.shape[0], groups, -1)
    if is_nearly_even(planes, -1):
        raise Impossible("ONNX Runtime takes a product of the mean from the bias")
    y = s.play("Reshape", [x, s.ints([0, groups, -1])])
    ones, zeros = s.constant(np.ones(groups, np.float32)), s.constant(np.zeros(groups, np.float32))
    y = s.play("InstanceNormalization", [y, ones, zeros], epsilon=1e-2)
    y = s.play("Reshape", [y, s.play("Shape", [x]) if s.opens or s.chance(0.5) else s.ints(array.shape)])
    shape = (channels, *[1] * (array.ndim - 2))
    y = s.play("Mul", [y, s.numbers(shape)])
    return s.play("Add", [y, s.numbers(shape)])


def normalization(s, x):
    array = s.need(x, "fd", ranks=(2, 3, 4, 5))
    kind = s.choose("LpNormalization", "MeanVarianceNormalization", "LRN", "InstanceNormalization", "BatchNormalization",
                    "LayerNormalization", "GroupNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
    type_, channels = array.dtype, array.shape[1]
    if kind == "LpNormalization":
        axis, named = axis_of(s, x)
        if np.abs(array).sum(axis).min() < 1e-3:
            raise Impossible("the quotient of roundings")
        return s.play(kind, [x], axis=named, p=s.choose(1, 2))
    if kind == "MeanVarianceNormalization":
        if s.opens:
            raise Impossible("equal numbers, where an axis has size 1")
        attributes = {} if s.chance(0.4) and array.ndim == 4 else {"axes": s.choose([0, 2, 3], [1, 2], [2], [0])}
        axes = tuple(attributes.get("axes", [0, 2, 3]))
        if any(a >= array.ndim for a in axes):
            raise Impossible("rank")
        if is_nearly_even(array, axes):
            raise Impossible("the difference of nearly equal numbers")
        return s.play(kind, [x], **attributes)
    if kind == "LRN":
        s.need(x, "f", ranks=(4,))
        return s.play(kind, [x], size=int(s.choose(1, 3, 5)), alpha=float(s.choose(1e-2, 0.3)), beta=float(s.choose(0.75, 0.5)),
                      bias=float(s.choose(1, 2)))
    if kind == "InstanceNormalization":
        s.need(x, "f", ranks=(3, 4, 5))
        if s.opens == "all":
            raise Impossible("planes of one number")
        planes = array.reshape(*array.shape[:2], -1)
        if is_nearly_even(planes, -1):
            raise Impossible("ONNX Runtime takes a product of the mean from the bias")
        return s.play(kind, [x, s.numbers((channels,), type_), s.numbers((channels,), type_)], epsilon=1e-2)
    if kind == "BatchNormalization":
        def positive():
            return s.constant((0.3 + s.random.random(channels)).astype(type_))
        inputs = [x, s.numbers((channels,), type_), s.numbers((channels,), type_), s.numbers((channels,), type_), positive()]
        of_channel = np.moveaxis(array, 1, 0).reshape(channels, -1)
        if s.opset >= 14 and s.chance(0.2) and not s.opens and not is_nearly_even(of_channel, -1):  # ONNX Runtime writes over its constants
            return s.play(kind, inputs, 3, training_mode=1, epsilon=1e-2, momentum=0.7)[0]
        if s.chance(0.25):  # numbers of the graph as its bias
            other = s.another(lambda y: y.dtype == type_ and y.shape == (channels,))
            if other is not None:
                inputs[s.choose(1, 2, 3)] = other
        return s.play(kind, inputs)
    if kind == "GroupNormalization":
        if s.opset < 18 or array.dtype.char != "f" or s.opens == "all":
            raise Impossible("version")
        groups = int(s.choose(*(g for g in range(1, channels + 1) if channels % g == 0)))
        count = groups if s.opset < 21 else channels
        return s.play(kind, [x, s.numbers((count,)), s.numbers((count,))], num_groups=groups, epsilon=1e-2)
    axis, named = axis_of(s, x)
    shape = array.shape[axis:]
    if kind == "LayerNormalization":
        if s.opset < 17:
            raise Impossible("version")
        inputs = [x, s.numbers(shape, type_)] + ([s.numbers(shape, type_)] if s.chance(0.6) else [])
        return s.play(kind, inputs, axis=named, epsilon=1e-2)
    if kind == "RMSNormalization" and s.opset < 23:
        raise Impossible("version")
    return s.play(kind, [x, s.numbers(shape, type_)], axis=named, epsilon=1e-2)


def loss(s, x):
    array = s.need(x, "f", ranks=(2, 3, 4))
    if s.opset < 13 or s.opens:
        raise Impossible("version")
    target = s.ints(s.random.integers(0, array.shape[1], array.shape[:1] + array.shape[2:]))
    attributes = {"reduction": s.choose("none", "mean", "sum")}
    if s.chance(0.3):
        attributes["ignore_index"] = 0
    inputs = [x, target] + ([s.constant((0.2 + s.random.random(array.shape[1])).astype(np.float32))] if s.chance(0.4) else [])
    op = s.choose("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    return s.play(op, inputs, **attributes)


MAKERS = {"reduce": (reduce, 2), "cum_sum": (cum_sum, 0.6), "distribution": (distribution, 0.8), "normalization": (normalization, 2),
          "group_norm": (spelled_out_group_norm, 0.4),
          "loss": (loss, 0.3)}
