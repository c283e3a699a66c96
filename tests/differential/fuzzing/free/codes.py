# SPDX-License-Identifier: Apache-2.0
"""Codes of 8 bits, that several nodes read, and operators on them: of ONNX and of com.microsoft."""
import ml_dtypes
import numpy as np

from ..sketch import Impossible
from .products import divisor, windows

TYPES = (np.uint8, np.int8)


def scale_of(array):
    return np.float32(max(float(np.abs(array).max()) if array.size else 1, 0.01) / 100)


def parameters(s, array, type_):
    """Names of a scale and a zero point for numbers like these."""
    zero = s.integer(100, 150) if type_ is np.uint8 else s.integer(-20, 20)
    return [s.constant(scale_of(array)), s.constant(type_(zero))]


def quantized(s, x, type_):
    """Codes of a float value with their parameters, made now or found; readers share them."""
    made = s.__dict__.setdefault("coded", {})
    key = x, type_
    if key not in made or made[key][0] not in s.values or s.chance(0.2):  # what did not fit is taken back
        own = parameters(s, s.array(x), type_)
        made[key] = [s.play("QuantizeLinear", [x, *own]), *own]
    return made[key]


def pair(s, x):
    s.need(x, "f")
    codes, scale, zero = quantized(s, x, s.choose(*TYPES))
    return s.play("DequantizeLinear", [codes, scale, zero])


def back(s, x, scale, zero):
    return s.play("DequantizeLinear", [x, scale, zero]) if s.chance(0.8) else x


def weights(s, shape, type_, scales=()):
    codes = s.random.integers(-60, 61, shape) + (128 if type_ is np.uint8 else 0)
    zero = np.full(scales, 128 if type_ is np.uint8 else 0, type_)
    return [s.constant(codes.astype(type_)), s.constant(s.random.uniform(0.005, 0.02, scales).astype(np.float32)), s.constant(zero)]


def qlinear_conv(s, x):
    array = s.need(x, "f", ranks=(3, 4, 5), small=1500)
    type_ = s.choose(*TYPES)
    channels = array.shape[1]
    groups = divisor(s, channels) if s.chance(0.3) else 1
    out = groups * s.choose(1, 2, 3)
    attributes = windows(s, array.shape[2:])
    shape = (out, channels // groups, *attributes["kernel_shape"])
    w = weights(s, shape, np.int8 if type_ is np.int8 or s.chance(0.6) else np.uint8, s.choose((), (out,)))
    y = [s.constant(np.float32(0.05)), s.constant(type_(s.integer(0, 20)))]
    inputs = [*quantized(s, x, type_), *w, *y]
    if s.chance(0.5):
        inputs.append(s.constant(s.random.integers(-500, 500, out).astype(np.int32)))
    return back(s, s.play("QLinearConv", inputs, group=groups, **attributes), *y)


def qlinear_matmul(s, x):
    array = s.need(x, "f", ranks=(2, 3), small=600)
    type_ = s.choose(*TYPES)
    w = weights(s, (array.shape[-1], s.size(9)), s.choose(np.int8, type_))
    y = [s.constant(np.float32(0.05)), s.constant(type_(s.integer(0, 20)))]
    return back(s, s.play("QLinearMatMul", [*quantized(s, x, type_), *w, *y]), *y)


def is_balanced(array):
    """The zero point of a range that ends as far below 0 as above is 127.5: a tie."""
    least, most = min(array.min(), 0), max(array.max(), 0)
    return abs(least + most) <= 1e-4 * (most - least)


def integer_product(s, x):
    array = s.need(x, "f", ranks=(2, 3, 4), small=900)
    dynamic = s.chance(0.4) and not is_balanced(array)
    if dynamic:
        codes, scale, zero = s.play("DynamicQuantizeLinear", [x], 3)
        type_ = np.uint8
    else:
        type_ = s.choose(*TYPES)
        codes, scale, zero = quantized(s, x, type_)
    if type_ is np.uint8 and (array.ndim == 4 or (array.ndim == 3 and s.chance(0.5))):
        axes = array.ndim - 2
        w, w_scale, w_zero = weights(s, (s.size(5), array.shape[1], *[2, 3][-axes:]), np.uint8)
        made = s.play("ConvInteger", [codes, w, zero, w_zero], strides=[s.choose(1, 2), 1][:axes], pads=[s.choose(0, 1)] * 2 * axes)
    else:
        w, w_scale, w_zero = weights(s, (array.shape[-1], s.size(9)), s.choose(np.int8, np.uint8), ())
        made = s.play("MatMulInteger", [codes, w, zero, w_zero])
    numbers = s.play("Cast", [made], to=1)
    return s.play("Mul", [numbers, s.play("Mul", [scale, w_scale])])


def on_codes(s, x):
    """com.microsoft's functions of codes."""
    array = s.need(x, "f")
    type_ = s.choose(*TYPES)
    a = quantized(s, x, type_)
    op = s.choose("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearConcat", "QLinearAveragePool",
                  "QLinearGlobalAveragePool", "QLinearSoftmax", "QLinearWhere")
    # Times 1.7 some mean of codes would lie just between two codes.
    y = [s.constant(np.float32(scale_of(array) * np.float32(1.70713))), s.constant(type_(s.integer(3, 100)))]
    domain = "com.microsoft"
    if op in ("QLinearAdd", "QLinearMul"):
        other = s.another(lambda v: v.dtype == np.float32 and v.shape == array.shape) or x
        b = quantized(s, other, type_) if s.chance(0.7) else weights(s, s.choose((), array.shape[-1:]), type_)
        return back(s, s.play(op, [*a, *b, *y], domain=domain), *y)
    if op == "QLinearSigmoid":
        y = [s.constant(np.float32(1 / 255)), s.constant(type_(0 if type_ is np.uint8 else -128))]
        return back(s, s.play(op, [*a, *y], domain=domain), *y)
    if op == "QLinearLeakyRelu":
        return back(s, s.play(op, [*a, *y], domain=domain, alpha=0.2), *y)
    if op == "QLinearConcat":
        if array.ndim == 0:
            raise Impossible("scalar")
        other = s.another(lambda v: v.dtype == np.float32 and v.shape == array.shape) or x
        return back(s, s.play(op, [*y, *a, *quantized(s, other, type_)], domain=domain, axis=s.integer(0, array.ndim - 1)), *y)
    if op == "QLinearWhere":
        condition = s.constant(s.random.random(array.shape) < 0.5)
        return back(s, s.play(op, [condition, *a, *weights(s, array.shape, type_), *y], domain=domain), *y)
    if op == "QLinearSoftmax":
        raise Impossible("cuts digits off (docs/export.md)")
    s.need(x, "f", ranks=(4,))
    if op == "QLinearAveragePool":
        return back(s, s.play(op, [*a, *y], domain=domain, kernel_shape=[2, 2], strides=[s.choose(1, 2), 1], pads=[0, 0, 1, 1],
                              count_include_pad=int(s.chance(0.5))), *y)
    return back(s, s.play(op, [*a, *y], domain=domain), *y)


def q_gemm(s, x):
    array = s.need(x, "f", ranks=(2,))
    type_ = s.choose(*TYPES)
    out = s.size(9)
    w = weights(s, (out, array.shape[1]), np.int8 if type_ is np.int8 else s.choose(*TYPES))
    bias = s.constant(s.random.integers(-500, 500, out).astype(np.int32)) if s.chance(0.6) else ""
    y = [s.constant(np.float32(0.05)), s.constant(type_(5))]
    inputs = [*quantized(s, x, type_), *w, bias]
    if s.chance(0.4):
        return s.play("QGemm", inputs, domain="com.microsoft", transB=1)
    return back(s, s.play("QGemm", [*inputs, *y], domain="com.microsoft", transB=1), *y)


def integer_to_float(s, x):
    array = s.need(x, "f", ranks=(2, 3), small=600)
    out = s.size(9)
    type_ = s.choose(np.int8, np.uint8)
    w, scale, zero = weights(s, (array.shape[-1], out), type_, s.choose((), (out,)) if type_ is np.int8 else ())
    bias = [s.numbers((out,))] if s.chance(0.5) else []
    if s.chance(0.5) and not is_balanced(array):
        return s.play("DynamicQuantizeMatMul", [x, w, scale, zero, *bias], domain="com.microsoft")
    codes, x_scale, x_zero = quantized(s, x, np.uint8)
    return s.play("MatMulIntegerToFloat", [codes, w, x_scale, scale, x_zero, zero, *bias], domain="com.microsoft")


def stored_product(s, x):
    """A product of numbers with weights that are stored as codes, of one scale, one a channel or in blocks."""
    array = s.need(x, "f", ranks=(2, 3), small=600)
    k, n = array.shape[-1], s.size(9)
    gemm = array.ndim == 2 and s.chance(0.5)
    along = 1 if gemm else 0
    shape = (n, k) if gemm else (k, n)
    blocks = s.opset >= 21
    type_ = s.choose(np.int8, np.uint8, *([ml_dtypes.int4, ml_dtypes.uint4] if blocks else []))
    low, high = int(ml_dtypes.iinfo(type_).min), int(ml_dtypes.iinfo(type_).max)
    kind = s.choose("tensor", *(["channel"] if s.opset >= 13 else []), *(["blocks", "blocks"] if blocks else []))
    attributes, scales = {}, ()
    if kind == "channel":
        attributes, scales = {"axis": 1 - along}, (n,)
    elif kind == "blocks":
        size = s.choose(1, 3, 16)
        attributes = {"axis": along, "block_size": size}
        scales = tuple(-(-d // size) if axis == along else d for axis, d in enumerate(shape))
    def drawn(of, low, high):
        return s.constant(s.random.integers(low, high + 1, of).astype(type_))
    inputs = [drawn(shape, low, high), s.constant(s.random.uniform(0.002, 0.02, scales).astype(np.float32))]
    if s.chance(0.6):
        inputs.append(drawn(scales, low // 2, high // 2))
    w = s.play("DequantizeLinear", inputs, **attributes)
    if gemm:
        return s.play("Gemm", [x, w, *([s.numbers((n,))] if s.chance(0.5) else [])], transB=1)
    made = s.play("MatMul", [x, w])
    return s.play("Add", [made, s.numbers((n,))]) if s.chance(0.4) else made


MAKERS = {"pair": (pair, 1), "qlinear_conv": (qlinear_conv, 0.8), "qlinear_matmul": (qlinear_matmul, 0.6),
          "integer_product": (integer_product, 0.8), "on_codes": (on_codes, 1), "q_gemm": (q_gemm, 0.5),
          "integer_to_float": (integer_to_float, 0.5), "stored_product": (stored_product, 1)}
