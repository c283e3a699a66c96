# SPDX-License-Identifier: Apache-2.0
"""What moves, picks and interpolates codes as files hold them that have no Q/DQ around it (QOperator), with other readers."""
import numpy as np

from ..sketch import Impossible
from . import codes, planes


def some_codes(s, x):
    """Codes that are there, or of a float value: (codes, scale, zero point)."""
    array = s.need(x, "f", ranks=(2, 3, 4, 5))
    if array.size > 900:
        raise Impossible("large")
    return codes.quantized(s, x, s.choose(*codes.TYPES))


def resized(s, x):
    made, scale, zero = some_codes(s, x)
    y = planes.resize(s, made, "iu")
    return codes.back(s, y, scale, zero)


def moved(s, x):
    made, scale, zero = some_codes(s, x)
    array = s.array(made)
    op = s.choose("MaxPool", "Transpose", "Concat", "Pad", "Slice", "Relu", "Max", "ReduceMax", "Where", "Clip")
    rank = array.ndim
    if op == "MaxPool":
        if rank < 3:
            raise Impossible("rank")
        y = s.play(op, [made], kernel_shape=[2] * (rank - 2), pads=[0, 1][:1] * (rank - 2) + [1] * (rank - 2))
    elif op == "Transpose":
        y = s.play(op, [made], perm=[int(i) for i in s.random.permutation(rank)])
    elif op == "Concat":
        y = s.play(op, [made, made], axis=s.integer(1, rank - 1) - s.choose(0, rank))
    elif op == "Pad":
        pads = [0, *s.random.integers(0, 2, rank - 1)]
        y = s.play(op, [made, s.ints(pads + [0] * rank), s.choose("", zero)])
    elif op == "Slice":
        y = s.play(op, [made, s.ints([-1]), s.ints([-99]), s.ints([rank - 1]), s.ints([-1])])
    elif op == "Relu":
        y = s.play("Max", [made, zero])
    elif op == "Max":
        y = s.play(s.choose("Max", "Min"), [made, made if s.chance(0.3) else s.constant(np.asarray(40, array.dtype))])
    elif op == "ReduceMax":
        y = s.play(op, [made], keepdims=int(s.chance(0.5))) if s.chance(0.3) else s.play(s.choose("GlobalMaxPool", "Identity"), [made])
    elif op == "Where":
        y = s.play(op, [s.constant(s.random.random(array.shape[1:]) < 0.5), made, zero])
    else:
        y = s.play(op, [made, s.constant(np.asarray(5, array.dtype)), s.constant(np.asarray(60, array.dtype))])
    return codes.back(s, y, scale, zero)


MAKERS = {"resized_codes": (resized, 2), "moved_codes": (moved, 1)}
