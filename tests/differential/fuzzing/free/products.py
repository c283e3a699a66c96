# SPDX-License-Identifier: Apache-2.0
"""Products, convolutions of one to three dimensions, attention."""
import numpy as np

from ..planes import draw_pads
from ..sketch import Impossible


def matmul(s, x):
    array = s.need(x, "fdi" if s.chance(0.1) else "fd", ranks=(1, 2, 3, 4, 5), small=600)
    if array.dtype == np.int8:
        raise Impossible("type")
    width = array.shape[-1]
    if s.chance(0.3):
        y = s.another(lambda y: y.dtype == array.dtype and y.ndim > 1 and y.shape[-2] == width
                      and (y.shape[:-2] == array.shape[:-2] or y.ndim == 2))
        if y is not None:
            return s.play("MatMul", [x, y])
    shape = s.choose((width,), (width, s.size(17)), (width, s.size(9)))
    if s.chance(0.3) and len(shape) == 2 and array.ndim < 5:
        shape = (*s.choose((1,), (2,), array.shape[:-2]), *shape)
    if array.dtype.kind == "i":
        return s.play("MatMul", [x, s.constant(s.random.integers(-3, 4, shape).astype(array.dtype))])
    if s.chance(0.15) and array.ndim > 1:
        return s.play("MatMul", [s.weights((s.size(5), array.shape[-2]), array.shape[-2], array.dtype), x])
    return s.play("MatMul", [x, s.weights(shape, width, array.dtype)])


def gemm(s, x):
    array = s.need(x, "fd", ranks=(2,))
    a, b = int(s.chance(0.3)), int(s.chance(0.5))
    rows, width = array.shape[::-1] if a else array.shape
    out = s.size(17)
    inputs = [x, s.weights((out, width) if b else (width, out), width, array.dtype)]
    if s.chance(0.6):
        inputs.append(s.numbers(s.choose((out,), (1, out), (rows, 1), (rows, out), (), (1,)), array.dtype))
    return s.play("Gemm", inputs, transA=a, transB=b, alpha=float(s.choose(1, 1, 0.5)), beta=float(s.choose(1, 1, -0.5)))


def windows(s, sizes):
    kernel = [int(s.choose(1, 2, 3, 3, 4)) for _ in sizes]
    stride = [int(s.choose(1, 1, 2, 3)) for _ in sizes]
    dilation = [int(s.choose(1, 1, 2)) if k > 1 else 1 for k in kernel]
    begin, end = draw_pads(s, kernel, dilation)
    attributes = {"kernel_shape": kernel, "strides": stride, "dilations": dilation}
    if s.chance(0.15):
        attributes["auto_pad"] = s.choose("SAME_UPPER", "SAME_LOWER", "VALID")
        if attributes["auto_pad"] != "VALID":
            attributes["dilations"] = [1] * len(sizes)
    elif s.chance(0.8):
        attributes["pads"] = begin + end
    return attributes


def reaches(sizes, attributes):
    """Windows that fit: of others ONNX Runtime counts some as one, by the division of negative numbers."""
    if "auto_pad" in attributes and attributes["auto_pad"] != "VALID":
        return
    half = len(sizes)
    pads = attributes.get("pads", [0] * 2 * half)
    for i, n in enumerate(sizes):
        span = (attributes["kernel_shape"][i] - 1) * attributes.get("dilations", [1] * half)[i] + 1
        if n + pads[i] + pads[i + half] < span:
            raise Impossible("the window is larger than the plane")


def divisor(s, n):
    return int(s.choose(*(g for g in range(1, n + 1) if n % g == 0)))


def computed(s, x, constant):
    """A constant that depends on what the network reads: folded or fixed it would be weights as others are. Finite, for ONNX
    Runtime multiplies what lies in the padding, too."""
    type_ = s.arrays[constant].dtype.type
    factor = s.play("Tanh", [s.play("ReduceMean", [x], keepdims=0)])
    return s.play("Mul", [constant, s.play("Where", [s.play("IsNaN", [factor]), s.constant(type_(1)), factor])])


def bias(s, x, channels, type_=np.float32):
    if s.chance(0.5):
        return []
    made = s.numbers((channels,), type_)
    return [computed(s, x, made) if s.chance(0.15) else made]


def conv(s, x):
    array = s.need(x, "fd" if s.chance(0.1) else "f", ranks=(3, 4, 5), small=2000)
    channels = array.shape[1]
    attributes = windows(s, array.shape[2:])
    groups = divisor(s, channels) if s.chance(0.4) else 1
    out = groups * s.choose(1, 1, 2, 3) if groups > 1 else s.size(9)
    kernel = attributes["kernel_shape"]
    shape = (out, channels // groups, *kernel)
    w = s.weights(shape, int(np.prod(shape[1:])), array.dtype)
    if s.chance(0.1):
        own = None if s.nonfinite else s.another(lambda y: y.dtype == array.dtype and y.shape == shape)
        w = own or computed(s, x, w)
    return s.play("Conv", [x, w, *bias(s, x, out, array.dtype)], group=groups, **attributes)


def conv_transpose(s, x):
    array = s.need(x, "f", ranks=(3, 4, 5), small=1000)
    channels = array.shape[1]
    attributes = windows(s, array.shape[2:])
    if attributes.get("auto_pad", "") == "VALID":
        del attributes["auto_pad"]
    groups = divisor(s, channels) if s.chance(0.4) else 1
    out = s.size(5)
    if s.chance(0.3):  # windows side by side
        attributes = {"kernel_shape": attributes["kernel_shape"], "strides": attributes["kernel_shape"]}
    elif s.chance(0.3):
        attributes["output_padding"] = [s.integer(0, st - 1) for st in attributes["strides"]]
    elif s.chance(0.2):
        attributes["output_shape"] = [d * st + s.choose(0, 0, 1) for d, st in zip(array.shape[2:], attributes["strides"])]
        attributes.pop("pads", None)
    shape = (channels, out, *attributes["kernel_shape"])
    w = s.weights(shape, channels // groups * 3)
    if s.chance(0.1):
        w = computed(s, x, w)
    return s.play("ConvTranspose", [x, w, *bias(s, x, out * groups)], group=groups, **attributes)


def einsum(s, x):
    array = s.need(x, "fd", ranks=(1, 2, 3, 4), small=600)
    if s.opset < 12:
        raise Impossible("version")
    own = "abcd"[:array.ndim]
    if s.chance(0.25):
        left = "".join(c for c in own if s.chance(0.6))
        left = "".join(s.random.permutation(list(left)))
        return s.play("Einsum", [x], equation=f"{own}->{left}")
    sizes = dict(zip(own, array.shape))
    terms, inputs = [own], [x]
    for _ in range(s.choose(1, 1, 2)):
        letters = [c for c in own if s.chance(0.5)] + list("xy"[:s.choose(0, 1, 1, 2)])
        letters = list(s.random.permutation(letters)) if letters else [own[0]]
        sizes.update((c, s.size(4)) for c in "xy" if c in letters and c not in sizes)
        terms.append("".join(letters))
        inputs.append(s.weights([sizes[c] for c in letters], 1, array.dtype))
    letters = list(dict.fromkeys("".join(terms)))
    left = "".join(s.random.permutation([c for c in letters if s.chance(0.6)]))
    return s.play("Einsum", inputs, equation=",".join(terms) + "->" + left)


def deform(s, x):
    array = s.need(x, "f", ranks=(4,), small=400)
    if s.opset < 19:
        raise Impossible("version")
    batch, channels, height, width = array.shape
    k = int(s.choose(1, 2, 3))
    pad = k // 2
    h, w = height + 2 * pad - k + 1, width + 2 * pad - k + 1
    if min(h, w) < 1:
        raise Impossible("small")
    inputs = [x, s.weights((2, channels, k, k), channels * k * k), s.numbers((batch, 2 * k * k, h, w), spread=0.7)]
    inputs.append(s.numbers((2,)) if s.chance(0.5) else "")
    if s.chance(0.5):
        inputs.append(s.constant(s.random.random((batch, k * k, h, w)).astype(np.float32)))
    return s.play("DeformConv", inputs, kernel_shape=[k, k], pads=[pad] * 4)


def det(s, x):
    array = s.need(x, "f", ranks=(2, 3, 4))
    if array.shape[-1] != array.shape[-2]:
        raise Impossible("square")
    if s.nonfinite:
        raise Impossible("0 times infinity depends on the order of elimination")
    return s.play("Det", [x])


def attention(s, x):
    """ai.onnx's Attention of operator set 23 on heads or on rows of heads."""
    array = s.need(x, "f", ranks=(3, 4), small=600)
    if s.opset < 23:
        raise Impossible("version")
    attributes = {"is_causal": int(s.chance(0.3))}
    keys = s.size(5)
    if array.ndim == 4:
        batch, heads, rows, width = array.shape
        shapes = (batch, heads, keys, width), (batch, heads, keys, s.choose(width, 3))
    else:
        batch, rows, hidden = array.shape
        heads = divisor(s, hidden)
        shapes = (batch, keys, hidden), (batch, keys, hidden)
        attributes.update(q_num_heads=heads, kv_num_heads=heads)
    inputs = [x, s.numbers(shapes[0]), s.numbers(shapes[1])]
    if s.chance(0.3):
        inputs[1] = s.another(lambda y: y.dtype == array.dtype and y.shape == shapes[0]) or inputs[1]
    if s.chance(0.4):
        shape = (batch, heads, rows, keys)[s.integer(0, 2):]
        mask = s.random.random(shape) < 0.7
        mask[..., 0] = True
        inputs.append(s.constant(mask if s.chance(0.5) else np.where(mask, 0, -9).astype(np.float32)))
    if s.chance(0.3):
        attributes["scale"] = 0.3
    if s.chance(0.2):
        attributes["softcap"] = 2.0
    return s.play("Attention", inputs, **attributes)


def rotary(s, x):
    array = s.need(x, "f", ranks=(4,))
    if s.opset < 23 or array.shape[-1] % 2:
        raise Impossible("version")
    batch, heads, rows, width = array.shape
    turned = width if s.chance(0.6) else 2 * s.integer(1, width // 2)
    tables = [s.numbers((batch, rows, turned // 2)) for _ in range(2)]
    attributes = {"interleaved": int(s.chance(0.5))}
    if turned != width:
        attributes["rotary_embedding_dim"] = turned
    return s.play("RotaryEmbedding", [x, *tables], **attributes)


MAKERS = {"matmul": (matmul, 2), "gemm": (gemm, 1), "conv": (conv, 2.5), "conv_transpose": (conv_transpose, 1.2), "einsum": (einsum, 0.8),
          "deform": (deform, 0.2), "det": (det, 0.2), "attention": (attention, 0.7), "rotary": (rotary, 0.4)}
