# SPDX-License-Identifier: Apache-2.0
"""Brevitas' and QONNX's operators: Quant of any number of bits, BipolarQuant, and products of what they make."""
import numpy as np

from ..sketch import Impossible
from .products import windows

DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")


def quant(s, x, signed=None, scales=None):
    """`scales`: the shape of the scale, drawn where it is not told."""
    array = s.array(x)
    rank = array.ndim
    bits = s.choose(1, 2, 3, 4, 4, 6, 8, 8, 8, 9, 12, 16)
    signed = bool(s.chance(0.6)) if signed is None else signed
    narrow = bool(s.chance(0.3)) and bits > 1
    if scales is None:
        scales = s.choose((), (), (1,), (1,) * rank)
        if rank > 1 and s.chance(0.3):
            axis = 1 if s.chance(0.7) or s.opens else s.integer(0, rank - 1)
            scales = tuple(d if i == axis else 1 for i, d in enumerate(array.shape))
            scales = scales[axis:] if s.chance(0.3) else scales
    largest = max(float(np.abs(array).max()) if array.size else 1, 0.01)
    steps = max(2.0**(bits - 1) - 1 if signed else 2.0**bits - 1, 1)
    scale = largest / steps * s.random.uniform(0.5, 1.2, scales)
    if s.chance(0.3):
        scale = 2.0**np.round(np.log2(scale))
    zero = np.zeros(scales if s.chance(0.3) else ())
    if s.chance(0.25):
        low, high = (-2**(bits - 1) + narrow, 2**(bits - 1) - 1) if signed else (0, 2**bits - 1 - narrow)
        zero = zero + s.integer(max(low, -20), min(high, 140))
    inputs = [x, *(s.constant(np.asarray(v, np.float32)) for v in (scale, zero, np.full(s.choose((), (1,)), bits)))]
    modes = {} if s.chance(0.3) else {"rounding_mode": s.choose("ROUND", "ROUND", "ROUND", "HALF_EVEN", "CEIL", "FLOOR")}
    return s.play("Quant", inputs, domain=s.choose(*DOMAINS), signed=int(signed), narrow=int(narrow), **modes)


def bipolar(s, x):
    scale = s.constant(np.full(s.choose((), (1,)), s.random.uniform(0.2, 1), np.float32))
    return s.play("BipolarQuant", [x, scale], domain=s.choose(*DOMAINS))


def activation(s, x):
    s.need(x, "f", filled=False)
    return quant(s, x) if s.chance(0.85) else bipolar(s, x)


def weights(s, shape, axis):
    """Float numbers behind Quant with one scale or one of each output channel."""
    w = s.weights(shape, int(np.prod(shape)) // shape[axis])
    if s.chance(0.15):
        return bipolar(s, w)
    by_channel = tuple(d if i == axis else 1 for i, d in enumerate(shape))
    return quant(s, w, signed=bool(s.chance(0.9)), scales=s.choose((), (1,), by_channel, by_channel))


def product(s, x):
    array = s.need(x, "f", ranks=(2, 3, 4), small=900)
    if s.chance(0.8):
        x = quant(s, x)
    out = s.size(9)
    if array.ndim > 2 and s.chance(0.6):
        depthwise = s.chance(0.25)
        channels = array.shape[1]
        attributes = windows(s, array.shape[2:])
        shape = (channels, 1, *attributes["kernel_shape"]) if depthwise else (out, channels, *attributes["kernel_shape"])
        bias = [s.numbers(shape[:1])] if s.chance(0.4) else []
        y = s.play("Conv", [x, weights(s, shape, 0), *bias], group=channels if depthwise else 1, **attributes)
        rest = (s.shape(y)[1], *[1] * (array.ndim - 2))
    elif array.ndim == 2 and s.chance(0.4):
        y = s.play("Gemm", [x, weights(s, (out, array.shape[1]), 0), *([s.numbers((out,))] if s.chance(0.5) else [])], transB=1)
        rest = (out,)
    else:
        y = s.play("MatMul", [x, weights(s, (array.shape[-1], out), 1)])
        rest = (out,)
    if s.chance(0.3):
        y = s.play("Mul", [y, s.constant(s.random.uniform(-0.5, 1.5, rest).astype(np.float32))])
    if s.chance(0.3):
        y = s.play("Add", [y, s.numbers(rest)])
    relu = s.chance(0.4)
    y = s.play("Relu", [y]) if relu else y
    return quant(s, y, signed=not relu) if s.chance(0.6) else y


MAKERS = {"quant": (activation, 1.5), "quant_product": (product, 2)}
