# SPDX-License-Identifier: Apache-2.0
"""Constants as codes: one scale, one for each channel or one for each block of an axis; as they are multiplied, transposed, or still
float in the file."""
import math

import ml_dtypes
import numpy as np
from onnx import TensorProto

from . import formats
from .sketch import Node

BLOCKS = (2, 3, 5, 16, 16, 32, 32, 64)


class Grid:
    """Scales and zero points of one constant, drawn."""

    def __init__(self, s, array, format_, axis, block):
        self.format, self.axis, self.block = format_, axis, block
        largest = largest_of(array, axis, block)
        if format_.is_float:
            scale = largest / format_.highest * (1.0 if s.chance(0.8) else 0.5)
            if format_.highest > 1000 and s.chance(0.5):  # numbers as they are
                scale = np.ones_like(scale)
        else:
            scale = largest / steps_of_one_sign(format_)
        self.scale = np.asarray(scale, np.float32)
        self.zero = np.zeros_like(self.scale, np.int64)
        if format_.is_float:
            pass
        elif format_.lowest == 0:
            middle = int(format_.highest + 1) // 2
            near = max(middle // 5, 1)
            self.zero = self.zero + middle if s.chance(0.6) else s.random.integers(middle - near, middle + near, scale.shape)
        elif s.chance(0.05):
            most = min(4, int(format_.highest))
            self.zero = s.random.integers(-most, most + 1, scale.shape)
        if s.chance(0.1):
            self.scale = np.asarray(2.0 ** np.round(np.log2(self.scale)), np.float32)

    def round_scale(self, type_):
        self.scale = np.asarray(self.scale, type_)

    def codes(self, array):
        def each(values):
            return formats.spread(np.asarray(values, np.float64), array.shape, self.axis, self.block)
        scale = np.where(each(self.scale) == 0, 1, each(self.scale))
        codes = self.format.codes(array / scale, each(self.zero))
        if self.format is formats.INT8:
            codes = np.maximum(codes, np.int8(-127))
        return codes


def steps_of_one_sign(format_):
    return max((format_.highest - format_.lowest - 1) / 2, 1)


def largest_of(array, axis, block):
    if block:
        largest = formats.in_blocks(array, axis, block, lambda part, a: np.abs(part).max(a, keepdims=True))
    else:
        rest = tuple(i for i in range(array.ndim) if i != axis) if axis is not None else None
        largest = np.abs(array).max(axis=rest)
    return np.maximum(largest, 1e-4)


def draw_block(annotator, array, axis):
    """(axis, elements of a block), 0 for none."""
    s = annotator.s
    # ONNX Runtime takes one scale for that of the tensor, which has no blocks.
    if s.opset < formats.BLOCKS or annotator.formats is None or array.ndim < 2 or not s.chance(annotator.in_blocks):
        return axis, 0
    others = [i for i in range(array.ndim) if i != axis]
    if others and s.chance(0.8):
        axis = s.choose(*others)
    return int(s.random.integers(array.ndim) if axis is None else axis), s.choose(*BLOCKS)


def turned(s, array, attributes, scales):
    """In another order in the file, as PyTorch leaves weights: (stored, its attributes, its scales, perm back)."""
    perm = [int(i) for i in s.random.permutation(array.ndim)]
    order = np.argsort(perm)
    if "axis" in attributes:
        attributes = {**attributes, "axis": perm[attributes["axis"]]}
    if "block_size" in attributes:
        scales = [np.ascontiguousarray(x.transpose(order)) for x in scales]
    return np.ascontiguousarray(array.transpose(order)), attributes, scales, perm


def code_constant(annotator, name, axis):
    """The constant behind DequantizeLinear: its name there, and its scales or None where no bias is counted in them."""
    s = annotator.s
    array = s.constants[name]
    format_ = annotator.draw_weight_format()
    if s.opset >= 24 and annotator.formats is not None and array.ndim > 0 and s.chance(0.15):
        return scaled_by_codes(annotator, array, axis), None
    axis = axis if axis is not None and s.chance(annotator.per_channel) else None
    axis, block = draw_block(annotator, array, axis)
    grid = Grid(s, array, format_, axis, block)
    half = annotator.formats is not None and s.opset >= 19 and format_.since <= s.opset and s.chance(0.12)
    if half:
        grid.round_scale(np.float16)
    codes = grid.codes(array)
    zero = grid.zero.astype(np.int32).astype(format_.type)
    attributes = {"axis": axis} if axis is not None else {}
    if block:
        attributes["block_size"] = block
    domain = annotator.domain(format_)
    out = s.name("d")
    if not half and not format_.is_float and not domain and s.chance(0.12):  # float in the file
        parameters = annotator.parameters(grid.scale, zero, format_, block=block)
        if format_ not in (formats.INT8, formats.UINT8) and len(parameters) == 1:
            parameters = annotator.parameters(grid.scale, zero, format_, block=block, always=True)
        q = s.name("q")
        annotator.nodes.append(Node("QuantizeLinear", [name, *parameters], [q], negative(s, attributes, array.ndim)))
        annotator.nodes.append(Node("DequantizeLinear", [q, *parameters], [out], negative(s, attributes, array.ndim)))
    elif array.ndim > 1 and s.chance(0.15):
        codes, attributes, scales, perm = turned(s, codes, attributes, [grid.scale, zero])
        d = s.name("d")
        dequantize(annotator, codes, *scales, format_, attributes, domain, d)
        annotator.nodes.append(Node("Transpose", [d], [out], {"perm": perm}))
    else:
        dequantize(annotator, codes, grid.scale, zero, format_, attributes, domain, out)
    return out, None if block else np.float32(grid.scale)


def negative(s, attributes, rank):
    if "axis" in attributes and s.chance(0.2):
        return {**attributes, "axis": attributes["axis"] - rank}
    return attributes


def dequantize(annotator, codes, scale, zero, format_, attributes, domain, out):
    """The node, with a Cast behind it where its scales are halves."""
    s = annotator.s
    parameters = annotator.parameters(scale, zero, format_, block=attributes.get("block_size", 0), dequantizes=True)
    attributes = negative(s, attributes, codes.ndim)
    inputs = [annotator.add(codes, "w"), *parameters]
    if scale.dtype != np.float16:
        annotator.nodes.append(Node("DequantizeLinear", inputs, [out], attributes, domain))
    elif s.opset >= 23 and s.chance(0.5):
        annotator.nodes.append(Node("DequantizeLinear", inputs, [out], {**attributes, "output_dtype": TensorProto.FLOAT}))
    else:
        h = s.name("h")
        annotator.nodes.append(Node("DequantizeLinear", inputs, [h], attributes))
        annotator.nodes.append(Node("Cast", [h], [out], {"to": TensorProto.FLOAT}))


def scaled_by_codes(annotator, array, axis):
    """MX: powers of two for blocks of 32 (OCP Microscaling Formats 1.0, 6.3). NVFP4: E4M3FN for blocks of 16, times one number."""
    s = annotator.s
    others = [i for i in range(array.ndim) if i != axis]
    axis = int(s.choose(*others)) if others else 0
    out = s.name("d")
    if s.chance(0.5):
        format_ = s.choose(formats.E4M3FN, formats.E2M1)
        block, most = s.choose(32, 32, 4), int(math.log2(format_.highest))
        scale = 2.0 ** (np.floor(np.log2(largest_of(array, axis, block))) - most)
        scales = annotator.add(scale.astype(np.float32).astype(ml_dtypes.float8_e8m0fnu), "s")
    else:
        format_, block = formats.E2M1, s.choose(16, 16, 4)
        largest = largest_of(array, axis, block)
        whole = np.float32(largest.max() / (format_.highest * formats.E4M3FN.highest))
        coded = formats.E4M3FN.codes(largest / format_.highest / whole)
        scale = np.asarray(coded, np.float64) * np.float64(whole)
        scales = s.name("s")
        annotator.nodes.append(Node("DequantizeLinear", [annotator.add(coded, "w"), annotator.add(whole, "s")], [scales], {}))
    wide = formats.spread(scale, array.shape, axis, block)
    codes = annotator.add(format_.codes(array / np.where(wide == 0, 1, wide)), "w")
    attributes = negative(s, {"axis": axis, "block_size": block}, array.ndim)
    annotator.nodes.append(Node("DequantizeLinear", [codes, scales], [out], attributes))
    return out


def packed(codes, bits):
    """Rows of codes in bytes, the first in the lowest bits."""
    shifted = codes.reshape(*codes.shape[:-1], -1, 8 // bits).astype(np.uint32) << np.arange(0, 8, bits, dtype=np.uint32)
    return shifted.sum(-1).astype(np.uint8)


def product_of_bits(annotator, x, name, out):
    """MatMulNBits of com.microsoft: x times a constant [K, N] in blocks of K."""
    s = annotator.s
    array = s.constants[name]
    k, n = array.shape
    bits, block = s.choose(4, 4, 8, 2), s.choose(16, 16, 32, 64)
    blocks = -(-k // block)
    padded = np.zeros((n, blocks * block), np.float32)
    padded[:, :k] = array.T
    parts = padded.reshape(n, blocks, block)
    middle = 2**(bits - 1)
    scale = np.maximum(np.abs(parts).max(-1), 1e-4) / max(middle - 1, 1)
    scale = scale.astype(np.float32)
    zero = np.full((n, blocks), middle) if s.chance(0.5) else s.random.integers(0, 2**bits, (n, blocks))
    given = bool((zero != middle).any()) or s.chance(0.3)
    codes = np.clip(np.round(parts / scale[..., None]) + zero[..., None], 0, 2**bits - 1)
    flat = s.chance(0.5)
    inputs = [x, annotator.add(packed(codes, bits), "w"), annotator.add(scale.reshape(-1) if flat else scale, "s")]
    if given:
        columns = -(-blocks * bits // 8) * 8 // bits
        wide = np.zeros((n, columns))
        wide[:, :blocks] = zero
        points = packed(wide, bits)
        inputs.append(annotator.add(points.reshape(-1) if flat else points, "z"))
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    if s.chance(0.2):
        inputs += [""] * (5 - len(inputs)) + [annotator.add(s.random.standard_normal(n).astype(np.float32) / 2, "b")]
    if s.chance(0.3):
        attributes["accuracy_level"] = s.choose(0, 1)
    annotator.nodes.append(Node("MatMulNBits", inputs, [out], attributes, "com.microsoft"))
