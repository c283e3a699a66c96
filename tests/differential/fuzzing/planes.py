# SPDX-License-Identifier: Apache-2.0
"""Makers of what works on channels and planes: convolutions, pools, resizing, normalization by channel."""
import numpy as np

from .sketch import Impossible


def is_planar(s, x):
    return s.rank(x) in (3, 4, 5)


def draw_windows(s, x, kernels=(1, 1, 2, 3, 3, 5), strides=(1, 1, 1, 2, 3), dilations=(1, 1, 1, 2)):
    """Kernel, strides, dilations and pads for the planes of x, with the planes that come out (rounded down)."""
    sizes = s.shape(x)[2:]
    kernel = [int(s.choose(*kernels)) for _ in sizes]
    if s.chance(0.6):
        kernel = kernel[:1] * len(sizes)
    stride = [int(s.choose(*strides)) for _ in sizes] if s.chance(0.5) else [1] * len(sizes)
    dilation = [int(s.choose(*dilations)) if k > 1 else 1 for k in kernel]
    return kernel, stride, dilation


def draw_pads(s, kernel, dilation, most=None):
    reach = [(k - 1) * d for k, d in zip(kernel, dilation)]
    style = s.choose("none", "half", "half", "uneven")
    if style == "none":
        begin = end = [0] * len(reach)
    elif style == "half":
        begin = end = [r // 2 for r in reach]
    else:
        begin = [int(s.random.integers(0, r + 1)) for r in reach]
        end = [int(s.random.integers(0, r + 1)) for r in reach]
    if most is not None:
        begin, end = [min(b, m) for b, m in zip(begin, most)], [min(e, m) for e, m in zip(end, most)]
    return begin, end


def window_sizes(sizes, kernel, stride, dilation, begin, end, ceil=False):
    out = []
    for n, k, st, d, b, e in zip(sizes, kernel, stride, dilation, begin, end):
        span = n + b + e - ((k - 1) * d + 1)
        if span < 0:
            raise Impossible("the window is larger than the plane")
        count = (span + st - 1) // st + 1 if ceil else span // st + 1
        if ceil and (count - 1) * st >= n + b:  # a window that starts beyond the data does not count
            count -= 1
        out.append(count)
    return out


def windows(s, x, ceil=False, most=None, **draw):
    """Attributes and the planes that come out; sometimes by auto_pad."""
    kernel, stride, dilation = draw_windows(s, x, **draw)
    sizes = s.shape(x)[2:]
    attributes = {"kernel_shape": kernel}
    if s.chance(0.9) or stride != [1] * len(stride):
        attributes["strides"] = stride
    if s.chance(0.15):
        mode = s.choose("SAME_UPPER", "SAME_LOWER", "VALID")
        dilation = [1] * len(kernel)
        attributes["auto_pad"] = mode
        if mode != "VALID":
            return attributes, [-(-n // st) for n, st in zip(sizes, stride)]
        return attributes, window_sizes(sizes, kernel, stride, dilation, [0] * len(kernel), [0] * len(kernel))
    if dilation != [1] * len(dilation):
        attributes["dilations"] = dilation
    begin, end = draw_pads(s, kernel, dilation, most and [min(most, k - 1) for k in kernel])
    if any(begin + end) or s.chance(0.3):
        attributes["pads"] = begin + end
    return attributes, window_sizes(sizes, kernel, stride, dilation, begin, end, ceil)


def spend(s, amount):
    s.work += amount
    if s.work > 600_000:
        raise Impossible("too much work for one graph")


def conv(s, x):
    batch, channels = s.shape(x)[:2]
    attributes, planes = windows(s, x)
    groups = 1
    if s.chance(0.35):
        groups = int(s.choose(*(g for g in range(1, channels + 1) if channels % g == 0)))
    if s.chance(0.15):
        groups = channels
    out = groups * s.choose(1, 1, 2, 3) if groups > 1 else s.size(24)
    if groups == 1 and s.chance(0.4):
        out = channels
    kernel = attributes["kernel_shape"]
    fan = channels // groups * int(np.prod(kernel))
    spend(s, batch * out * int(np.prod(planes)) * fan)
    inputs = [x, s.weights((out, channels // groups, *kernel), fan)]
    if s.chance(0.6):
        inputs.append(s.numbers((out,), 0.5))
    if groups > 1:
        attributes["group"] = groups
    if s.chance(0.2):
        del attributes["kernel_shape"]
    return s.finish(s.node("Conv", inputs, (batch, out, *planes), **attributes))


def conv_transpose(s, x):
    batch, channels, *sizes = s.shape(x)
    kernel, stride, dilation = draw_windows(s, x, strides=(1, 2, 2), dilations=(1, 1, 2))
    side_by_side = s.chance(0.4)
    if side_by_side:
        stride, dilation = list(kernel), [1] * len(kernel)
    groups = int(s.choose(*(g for g in range(1, channels + 1) if channels % g == 0))) if s.chance(0.4) else 1
    out = s.size(12)
    begin, end = draw_pads(s, kernel, dilation) if not side_by_side or s.chance(0.2) else ([0] * len(kernel), [0] * len(kernel))
    extra = [int(s.random.integers(0, st)) if s.chance(0.3) else 0 for st in stride]
    planes = [(n - 1) * st + (k - 1) * d + 1 - b - e + o
              for n, st, k, d, b, e, o in zip(sizes, stride, kernel, dilation, begin, end, extra)]
    if min(planes) < 1:
        raise Impossible("no output is left")
    spend(s, batch * out * groups * int(np.prod(planes)) * int(np.prod(kernel)) * channels // groups)
    attributes = {"strides": stride, "pads": begin + end, "group": groups}
    if any(d > 1 for d in dilation):
        attributes["dilations"] = dilation
    if any(extra):
        attributes["output_padding"] = extra
    inputs = [x, s.weights((channels, out, *kernel), channels // groups * int(np.prod(kernel)))]
    if s.chance(0.5):
        inputs.append(s.numbers((out * groups,), 0.5))
    return s.finish(s.node("ConvTranspose", inputs, (batch, out * groups, *planes), **attributes))


def pool(s, x):
    batch, channels = s.shape(x)[:2]
    op = s.choose("MaxPool", "AveragePool")
    ceil = s.chance(0.3)
    keeps_dilation = op == "MaxPool" or s.opset >= 19
    attributes, planes = windows(s, x, ceil=ceil, most=2, kernels=(2, 2, 3, 3, 1), strides=(1, 2, 2, 3),
                                 dilations=(1, 1, 2) if keeps_dilation else (1,))
    strides = attributes.get("strides", [1] * len(planes))
    spans = [(m - 1) * st + k for m, st, k in zip(planes, strides, attributes["kernel_shape"])]
    if "SAME" in attributes.get("auto_pad", "") and any(
            span < n or (x in s.open_planes and st > k)
            for span, n, st, k in zip(spans, s.shape(x)[2:], strides, attributes["kernel_shape"])):
        raise Impossible("ONNX Runtime pools with a negative padding")
    if ceil and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and s.chance(0.5):
        attributes["count_include_pad"] = int(s.chance(0.7))
    if op == "AveragePool" and "dilations" in attributes and not attributes.get("count_include_pad"):
        attributes.pop("pads", None)  # a window of nothing but padding has no average
        planes = window_sizes(s.shape(x)[2:], attributes["kernel_shape"], strides,
                              attributes["dilations"], [0] * len(planes), [0] * len(planes), "ceil_mode" in attributes)
    return s.finish(s.node(op, [x], (batch, channels, *planes), **attributes))


def global_pool(s, x):
    batch, channels, *sizes = s.shape(x)
    return s.finish(s.node(s.choose("GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool"), [x],
                           (batch, channels, *[1] * len(sizes))))


def batch_normalization(s, x):
    channels = s.shape(x)[1]
    inputs = [x, s.numbers((channels,)), s.numbers((channels,), 0.5), s.numbers((channels,), 0.5),
              s.constant((0.3 + s.random.random(channels)).astype(np.float32))]
    return s.finish(s.node("BatchNormalization", inputs, s.shape(x)))


def resize(s, x):
    if s.rank(x) != 4 or s.opset < 11:
        raise Impossible("Resize")
    batch, channels, *sizes = s.shape(x)
    mode = s.choose("nearest", "nearest", "linear")
    scales = [int(s.choose(1, 2, 2, 3)) for _ in sizes]
    planes = [n * k for n, k in zip(sizes, scales)]
    if np.prod(planes) > 600:
        raise Impossible("large planes")
    coordinates = ["half_pixel", "asymmetric"] + ["align_corners", "pytorch_half_pixel"] * (mode == "linear")
    attributes = {"mode": mode, "coordinate_transformation_mode": s.choose(*coordinates)}
    if mode == "nearest":
        attributes["nearest_mode"] = "floor" if s.chance(0.5) else "round_prefer_floor"
    if x not in s.open_planes and not s.open_batch and s.chance(0.3):
        inputs = [x, "", "", s.axes([batch, channels, *planes])]
        if s.opset < 13:
            inputs[1:3] = [s.constant(np.zeros(0, np.float32))] * 2
    else:
        roi = "" if s.opset >= 13 else s.constant(np.zeros(0, np.float32))
        inputs = [x, roi, s.constant(np.array([1, 1, *scales], np.float32))]
    return s.finish(s.node("Resize", inputs, (batch, channels, *planes), **attributes))


def flatten_and_square(s, x):
    """A shortcut around a product behind Flatten: the codes of the two lie in different orders."""
    if s.chance(0.6):
        x = conv(s, x)
    if x in s.open_planes:
        raise Impossible("open planes")
    batch, *rest = s.shape(x)
    width = int(np.prod(rest))
    if width > 120:
        raise Impossible("wide")
    spend(s, batch * width * width)
    flat = s.node("Flatten", [x], (batch, width))
    bias = [s.numbers((width,), 0.3)] if s.chance(0.4) or s.opset < 11 else []
    made = s.node("Gemm", [flat, s.weights((width, width), width), *bias], (batch, width), transB=1)
    if s.chance(0.2):
        s.values.append(made)
    out = s.node("Add", [flat, made] if s.chance(0.5) else [made, flat], (batch, width))
    return s.finish(s.node("Relu", [out], s.shape(out)) if s.chance(0.5) else out)


def conv_behind_clip(s, x):
    """Codes that the Clip bounds, and padding that lies outside these bounds."""
    low, high = s.choose((0.4, 6), (-0.5, 0.5), (0.1, 2), (-3, -0.2), (-8, -0.6), (0, 6))
    if s.chance(0.7):
        x = conv(s, x)
    if s.opset < 11:
        bounded = s.node("Clip", [x], s.shape(x), min=float(low), max=float(high))
    else:
        bounded = s.node("Clip", [x, s.constant(np.float32(low)), s.constant(np.float32(high))], s.shape(x))
    return conv(s, bounded)


def residual(s, x):
    """Conv of the same shape, then the sum with its input, perhaps another kernel's way there."""
    batch, channels, *sizes = s.shape(x)
    kernel = [int(s.choose(1, 3))] * len(sizes)
    spend(s, batch * channels * channels * int(np.prod(sizes)) * int(np.prod(kernel)))
    pads = [k // 2 for k in kernel] * 2
    made = x
    for _ in range(s.choose(1, 1, 2)):
        fan = channels * int(np.prod(kernel))
        inputs = [made, s.weights((channels, channels, *kernel), fan)]
        if s.chance(0.5):
            inputs.append(s.numbers((channels,), 0.5))
        made = s.node("Conv", inputs, s.shape(x), pads=pads)
        if s.chance(0.4):
            made = s.node("Relu", [made], s.shape(x))
    out = s.node("Add", [made, x] if s.chance(0.5) else [x, made], s.shape(x))
    return s.finish(s.node("Relu", [out], s.shape(x)) if s.chance(0.5) else out)


MAKERS = {"conv": (conv, 5), "conv_transpose": (conv_transpose, 1), "pool": (pool, 2), "global_pool": (global_pool, 0.7),
          "batch_normalization": (batch_normalization, 0.8), "resize": (resize, 0.8),
          "flatten_and_square": (flatten_and_square, 1.5), "residual": (residual, 1.5),
          "conv_behind_clip": (conv_behind_clip, 1.5)}
