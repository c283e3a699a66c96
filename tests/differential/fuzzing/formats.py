# SPDX-License-Identifier: Apache-2.0
"""Number formats of codes: what each holds, in which operator set it is, and codes of numbers by NumPy and ml_dtypes."""
import dataclasses

import ml_dtypes
import numpy as np
from onnx import helper

BLOCKS = 21
OUTPUT_TYPES = 21  # output_dtype of QuantizeLinear; 23 of DequantizeLinear


@dataclasses.dataclass(frozen=True)
class Format:
    """`since`: the operator set whose QuantizeLinear and DequantizeLinear know it."""
    type: object  # NumPy's or ml_dtypes'
    since: int
    lowest: float
    highest: float

    @property
    def is_float(self):
        return np.dtype(self.type).name.startswith("float")

    @property
    def onnx_type(self):
        return helper.np_dtype_to_tensor_dtype(np.dtype(self.type))

    def codes(self, numbers, zero=0):
        """Of numbers over their scale, those beyond it at the ends."""
        if self.is_float:
            return np.clip(numbers, self.lowest, self.highest).astype(np.float32).astype(self.type)
        return np.clip(np.round(numbers) + zero, self.lowest, self.highest).astype(np.int32).astype(self.type)


def of_integers(type_, bits, since):
    signed = np.dtype(type_).name.startswith("int")
    lowest = -2**(bits - 1) if signed else 0
    return Format(type_, since, lowest, lowest + 2**bits - 1)


def of_floats(type_, since):
    most = float(ml_dtypes.finfo(type_).max)
    return Format(type_, since, -most, most)


INT8, UINT8 = of_integers(np.int8, 8, 10), of_integers(np.uint8, 8, 10)
E4M3FN, E2M1 = of_floats(ml_dtypes.float8_e4m3fn, 19), of_floats(ml_dtypes.float4_e2m1fn, 23)
FLOATS = [E4M3FN, of_floats(ml_dtypes.float8_e5m2, 19), of_floats(ml_dtypes.float8_e4m3fnuz, 19), of_floats(ml_dtypes.float8_e5m2fnuz, 19)]
INTEGERS = [of_integers(np.int16, 16, 21), of_integers(np.uint16, 16, 21), of_integers(ml_dtypes.int4, 4, 21),
            of_integers(ml_dtypes.uint4, 4, 21), of_integers(ml_dtypes.int2, 2, 25), of_integers(ml_dtypes.uint2, 2, 25)]
MICROSOFT = 21  # what com.microsoft's operators know is what ONNX has from here on


def known(formats, opset):
    return [f for f in formats if f.since <= opset]


def draw(s):
    """(formats of activations, formats of weights): two of a few of 8 bits, or others with them."""
    if s.opset < 19 and not s.chance(0.15):
        return None
    if s.chance(0.25):
        return None
    others = known(INTEGERS[:4], MICROSOFT) if s.opset < 19 else known(FLOATS + INTEGERS, s.opset)
    def some(extra):
        mine = [s.choose(*others) for _ in range(s.choose(1, 1, 2, 4))]
        return mine + [s.choose(INT8, UINT8) for _ in range(s.choose(*extra))]
    activations = some((0, 1, 2)) if s.chance(0.7) else [s.choose(INT8, UINT8)]
    weights = some((0, 0, 1)) if s.chance(0.8) else [INT8]
    return activations, weights


def shape_of_scales(shape, axis, block):
    return tuple(-(-d // block) if i == axis else d for i, d in enumerate(shape))


def in_blocks(array, axis, block, of):
    """`of` (a function of an array and an axis) of each block along the axis."""
    parts = [of(array.take(range(at, min(at + block, array.shape[axis])), axis), axis) for at in range(0, array.shape[axis], block)]
    return np.concatenate(parts, axis)


def spread(scales, shape, axis, block):
    """Scales of an axis (block 0) or of blocks for each element."""
    if block:
        return np.repeat(scales, block, axis).take(range(shape[axis]), axis)
    if np.ndim(scales) == 0 or np.size(scales) == 1:
        return np.reshape(scales, ())
    return np.reshape(scales, [-1 if i == axis else 1 for i in range(len(shape))])
