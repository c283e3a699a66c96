# SPDX-License-Identifier: Apache-2.0
"""Codes whose scale the data decides, and codes of each channel: integer products behind what moves them, with several readers."""
import numpy as np

from ..sketch import Impossible
from .codes import is_balanced
from .products import divisor, windows


def coded(s, x):
    """Codes, scale and zero point of x, made now or found."""
    array = s.need(x, "f", ranks=(2, 3, 4), small=900)
    if is_balanced(array):
        raise Impossible("a zero point at a tie")
    made = s.__dict__.setdefault("dynamic", {})
    if x not in made or made[x][0] not in s.values or s.chance(0.2):  # what did not fit is taken back
        made[x] = s.play("DynamicQuantizeLinear", [x], 3)
    return made[x]


def moved(s, codes):
    """The codes in another order or shape, or some of them, or with themselves."""
    array = s.array(codes)
    rank = array.ndim
    op = s.choose("Transpose", "Reshape", "Slice", "Concat", "Split", "Gather")
    if op == "Transpose":
        return s.play(op, [codes], perm=[int(i) for i in s.random.permutation(rank)])
    if op == "Reshape":
        if s.opens:
            return s.play(op, [codes, s.ints([0] * rank)])
        return s.play(op, [codes, s.ints(s.choose([-1, array.shape[-1]], [array.shape[0], -1], [1, *array.shape]))])
    axis = s.integer(1, rank - 1)
    if op == "Slice":
        return s.play(op, [codes, s.ints([0]), s.ints([max(array.shape[axis] // 2, 1)]), s.ints([axis])])
    if op == "Concat":
        return s.play(op, [codes] * s.choose(2, 3), axis=axis - s.choose(0, rank))
    if op == "Gather":
        return s.play(op, [codes, s.ints(s.random.integers(0, array.shape[axis], s.choose(1, 2, 3)))], axis=axis)
    if array.shape[axis] < 2 or s.opset < 18:
        raise Impossible("nothing to split")
    return s.choose(*s.play(op, [codes], 2, axis=axis, num_outputs=2))


def drawn_weights(s, shape, channels, by_channel):
    """Codes, a scale or one of each channel, and a zero point, or none."""
    type_ = s.choose(np.int8, np.int8, np.uint8)
    signed = type_ is np.int8
    codes = s.random.integers(-127, 128, shape) if signed else s.random.integers(0, 256, shape)
    scales = (channels,) if by_channel and s.chance(0.5) else s.choose((), (1,))
    zeros = (channels,) if by_channel and s.chance(0.3) else s.choose((), (1,))
    zero = s.constant((s.random.integers(-9, 10, zeros) + (0 if signed else 128)).astype(type_)) if s.chance(0.6) else ""
    return s.constant(codes.astype(type_)), s.constant(s.random.uniform(0.002, 0.01, scales).astype(np.float32)), zero


def matrix(s, codes, zero):
    width = s.shape(codes)[-1]
    out = s.size(9)
    w, w_scale, w_zero = drawn_weights(s, (width, out), out, True)
    return s.play("MatMulInteger", [codes, w, *([zero, w_zero] if w_zero else [zero])]), w_scale


def convolution(s, codes, zero):
    array = s.array(codes)
    if array.ndim not in (3, 4):
        raise Impossible("rank")
    groups = divisor(s, array.shape[1]) if s.chance(0.3) else 1
    out = groups * s.choose(1, 2, 3)
    attributes = windows(s, array.shape[2:])
    w, w_scale, w_zero = drawn_weights(s, (out, array.shape[1] // groups, *attributes["kernel_shape"]), out, False)
    if s.shape(w_scale) == () and s.chance(0.4):
        w_scale = s.constant(s.random.uniform(0.002, 0.01, (1, out, *[1] * (array.ndim - 2))).astype(np.float32))
    made = s.play("ConvInteger", [codes, w, *([zero, w_zero] if w_zero else [zero])], group=groups, **attributes)
    return made, w_scale


def scaled(s, sums, scale, w_scale):
    """Numbers of integer sums, as tools spell them."""
    numbers = s.play("Cast", [sums], to=1)
    if s.chance(0.5):
        factor = s.play("Mul", [scale, w_scale][::s.choose(1, -1)])
        return s.play("Mul", [numbers, factor][::s.choose(1, -1)])
    return s.play("Mul", [s.play("Mul", [numbers, scale]), w_scale])


def product(s, x):
    codes, scale, zero = coded(s, x)
    if s.chance(0.4):
        codes = moved(s, codes)
    made = []
    for _ in range(s.choose(1, 1, 2, 3)):
        maker = convolution if s.rank(codes) > 2 and s.chance(0.5) else matrix
        sums, w_scale = maker(s, codes, zero)
        y = scaled(s, sums, scale, w_scale)
        if maker is matrix and s.chance(0.5):
            y = s.play("Add", [y, s.numbers(s.shape(y)[-1:])][::s.choose(1, -1)])
        if s.chance(0.3):
            y = s.play(s.choose("Relu", "Sigmoid", "Tanh"), [y])
        made.append(y)
    if len(made) > 1 and s.shape(made[0]) == s.shape(made[1]):
        return s.play(s.choose("Add", "Mul"), made[:2])
    return made[-1]


def back(s, x):
    """The numbers that the codes stand for, moved or not."""
    codes, scale, zero = coded(s, x)
    return s.play("DequantizeLinear", [moved(s, codes) if s.chance(0.5) else codes, scale, zero])


def by_channel(s, x):
    """Q and DQ with a scale and a zero point of each index of an axis, then perhaps a product of one channel each."""
    array = s.need(x, "f", ranks=(2, 3, 4), small=900)
    if s.opset < 13:
        raise Impossible("version")
    axis = 1 if s.chance(0.6) else s.integer(0, array.ndim - 1)
    if axis == 0 and s.opens:
        raise Impossible("open")
    count = array.shape[axis]
    type_ = s.choose(np.uint8, np.int8)
    largest = max(float(np.abs(array).max()), 0.01)
    scale = s.constant((largest / s.random.uniform(60, 200, count)).astype(np.float32))
    low, high = (100, 150) if type_ is np.uint8 else (-20, 20)
    zero = s.constant(s.random.integers(low, high + 1, count).astype(type_) if s.chance(0.7) else np.full(count, s.integer(low, high), type_))
    x = s.play("Relu", [x]) if s.chance(0.3) else x
    codes = s.play("QuantizeLinear", [x, scale, zero], axis=axis - s.choose(0, array.ndim))
    made = s.play("DequantizeLinear", [codes, scale, zero], axis=axis - s.choose(0, array.ndim))
    if axis != 1 or array.ndim < 3 or not s.chance(0.6):
        return made
    out = count * s.choose(1, 1, 2)
    attributes = windows(s, array.shape[2:])
    w = s.constant(s.random.integers(-127, 128, (out, 1, *attributes["kernel_shape"])).astype(np.int8))
    w_scale = s.constant(s.random.uniform(0.002, 0.01, s.choose((), (out,))).astype(np.float32))
    w = s.play("DequantizeLinear", [w, w_scale], axis=0)
    return s.play("Conv", [made, w, *([s.numbers((out,))] if s.chance(0.5) else [])], group=count, **attributes)


MAKERS = {"dynamic_product": (product, 2), "dynamic_back": (back, 0.6), "by_channel": (by_channel, 1.5)}
