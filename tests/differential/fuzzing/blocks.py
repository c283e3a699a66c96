# SPDX-License-Identifier: Apache-2.0
"""Blocks of real networks, in which values meet that lie in different orders in memory."""
import numpy as np

from .elements import concat
from .matrices import matmul
from .planes import conv, spend
from .sketch import Impossible


def needs(s, x, rank):
    if s.rank(x) != rank or x in s.open_planes:
        raise Impossible("rank")


def squeeze_and_excite(s, x):
    """Channels weighed by what their averages say."""
    if s.rank(x) != 4:
        raise Impossible("rank")
    batch, channels = s.shape(x)[:2]
    narrow = max(channels // 2, 1)
    spend(s, 2 * batch * channels * narrow)
    if s.opset < 18 and s.chance(0.3):
        y = s.node("ReduceMean", [x], (batch, channels, 1, 1), axes=[2, 3], keepdims=1)
    else:
        y = s.node("GlobalAveragePool", [x], (batch, channels, 1, 1))
    y = s.node("Conv", [y, s.weights((narrow, channels, 1, 1), channels), s.numbers((narrow,), 0.3)], (batch, narrow, 1, 1))
    y = s.node("Relu", [y], s.shape(y))
    y = s.node("Conv", [y, s.weights((channels, narrow, 1, 1), narrow)], (batch, channels, 1, 1))
    y = s.node(s.choose("Sigmoid", "HardSigmoid"), [y], s.shape(y))
    return s.finish(s.node("Mul", [x, y][::s.choose(1, -1)], s.shape(x)))


def channels_last(s, x):
    """Transposed, a product over channels with a shortcut around it, and back."""
    needs(s, x, 4)
    batch, channels, height, width = s.shape(x)
    turned = s.node("Transpose", [x], (batch, height, width, channels), perm=[0, 2, 3, 1])
    spend(s, batch * height * width * channels * channels)
    y = turned
    if s.opset >= 17 and s.chance(0.5):
        y = s.node("LayerNormalization", [y, s.numbers((channels,)), s.numbers((channels,), 0.3)], s.shape(y), axis=-1)
    y = s.node("MatMul", [y, s.weights((channels, channels), channels)], s.shape(y))
    if s.chance(0.5):
        y = s.node("Add", [y, s.numbers((channels,), 0.3)], s.shape(y))
    if s.chance(0.6):
        y = s.node("Add", [y, turned][::s.choose(1, -1)], s.shape(y))
    if s.chance(0.7):
        y = s.node("Transpose", [y], s.shape(x), perm=[0, 3, 1, 2])
        if s.chance(0.5):
            y = s.node("Add", [x, y][::s.choose(1, -1)], s.shape(x))
    return s.finish(y)


def shuffle(s, x):
    """Channels of groups interleaved."""
    needs(s, x, 4)
    batch, channels, height, width = s.shape(x)
    groups = s.choose(*(g for g in range(1, channels + 1) if channels % g == 0))
    first = 0 if s.open_batch else batch
    shape = (batch, groups, channels // groups, height, width)
    y = s.node("Reshape", [x, s.axes([first, *shape[1:]])], shape)
    shape = (batch, channels // groups, groups, height, width)
    y = s.node("Transpose", [y], shape, perm=[0, 2, 1, 3, 4])
    return s.finish(s.node("Reshape", [y, s.axes([first, *s.shape(x)[1:]])], s.shape(x)))


def tokens(s, x):
    """Planes as a sequence: what vision transformers do behind their first convolution, and back."""
    needs(s, x, 4)
    if s.chance(0.5):
        x = conv(s, x)
    batch, channels, height, width = s.shape(x)
    first = 0 if s.open_batch else batch
    y = s.node("Reshape", [x, s.axes([first, channels, s.choose(-1, height * width)])], (batch, channels, height * width))
    y = s.node("Transpose", [y], (batch, height * width, channels), perm=[0, 2, 1])
    s.values.append(y)
    spend(s, batch * height * width * channels * channels)
    y = s.node("MatMul", [y, s.weights((channels, channels), channels)], s.shape(y))
    if s.chance(0.5):
        y = s.node("Add", [y, s.numbers((1, height * width, channels), 0.3)], s.shape(y))
    if s.chance(0.4):
        y = s.node("Transpose", [y], (batch, channels, height * width), perm=[0, 2, 1])
        y = s.node("Reshape", [y, s.axes([first, channels, height, width])], (batch, channels, height, width))
        if s.chance(0.6):
            y = s.node("Add", [x, y][::s.choose(1, -1)], s.shape(y))
    return s.finish(y)


def split_and_join(s, x):
    """Halves of the channels, one of them through a convolution, joined again."""
    if s.rank(x) != 4 or s.shape(x)[1] < 2:
        raise Impossible("rank")
    batch, channels, *planes = s.shape(x)
    first = int(s.random.integers(1, channels))
    shapes = [(batch, n, *planes) for n in (first, channels - first)]
    if s.opset >= 13:
        parts = s.node("Split", [x, s.axes([first, channels - first])], shapes, axis=1)
    else:
        parts = s.node("Split", [x], shapes, axis=1, split=[first, channels - first])
    spend(s, batch * first * first * int(np.prod(planes)) * 9)
    made = s.node("Conv", [parts[0], s.weights((first, first, 3, 3), 9 * first)], shapes[0], pads=[1, 1, 1, 1])
    if s.chance(0.5):
        made = s.node("Relu", [made], shapes[0])
    joined = [made, parts[1], *([parts[0]] if s.chance(0.3) else [])]
    s.random.shuffle(joined)
    return s.finish(s.node("Concat", joined, (batch, sum(s.shape(p)[1] for p in joined), *planes), axis=1))


def classifier(s, x):
    """Pool, flatten, product: how most image networks end."""
    if s.rank(x) != 4:
        raise Impossible("rank")
    batch, channels = s.shape(x)[:2]
    y = s.node("GlobalAveragePool", [x], (batch, channels, 1, 1))
    y = s.node("Flatten", [y], (batch, channels))
    out = s.size(16)
    spend(s, batch * channels * out)
    y = s.node("Gemm", [y, s.weights((out, channels), channels), s.numbers((out,), 0.3)], (batch, out), transB=1)
    return s.finish(y)


def branches(s, x):
    """Two ways from one value, joined by their channels or as a sum."""
    if s.rank(x) == 4:
        ways = [conv(s, x), conv(s, x)]
    else:
        ways = [matmul(s, x), matmul(s, x)]
    if s.shape(ways[0]) == s.shape(ways[1]):
        return s.finish(s.node("Add", ways, s.shape(ways[0])))
    return concat(s, ways[0])


def feed_forward(s, x):
    """What stands between two attentions: a function between products, sums that are normalized, and both go on."""
    if s.rank(x) < 2 or s.opset < 17 or x in s.open_planes:
        raise Impossible("rank")
    *rows, channels = s.shape(x)
    wide = s.size(40)
    spend(s, 3 * int(np.prod(rows)) * channels * wide)

    def product(y, depth, columns):
        y = s.node("MatMul", [y, s.weights((depth, columns), depth)], (*rows, columns))
        return s.node("Add", [y, s.numbers((columns,), 0.3)], s.shape(y)) if s.chance(0.7) else y

    def norm(y):
        return s.node("LayerNormalization", [y, s.numbers((channels,)), *([s.numbers((channels,), 0.3)] if s.chance(0.8) else [])],
                      s.shape(y), axis=-1)

    y = norm(x) if s.chance(0.5) else x
    h = product(y, channels, wide)
    function = s.choose("Gelu", "Sigmoid", "Tanh", "HardSwish", "Swish", "Relu")
    if function == "Gelu" and s.opset >= 20:
        h = s.node("Gelu", [h], s.shape(h), **({"approximate": "tanh"} if s.chance(0.4) else {}))
    elif function in ("Gelu", "Swish"):
        h = s.node("Mul", [h, s.node("Sigmoid", [h], s.shape(h))][::s.choose(1, -1)], s.shape(h))
    else:
        h = s.node(function, [h], s.shape(h))
    y = s.node("Add", [product(h, wide, channels), s.choose(x, y)][::s.choose(1, -1)], s.shape(x))
    if s.chance(0.3):
        s.values.append(y)
    z = norm(y)
    if s.chance(0.5):
        s.finish(product(z, channels, wide))
    return s.finish(s.node("Add", [z, product(z, channels, channels)], s.shape(x)) if s.chance(0.5) else z)


def depth_and_space(s, x):
    needs(s, x, 4)
    batch, channels, height, width = s.shape(x)
    if channels % 4 == 0 and s.chance(0.5):
        attributes = {"mode": s.choose("DCR", "CRD")} if s.opset >= 11 else {}
        return s.finish(s.node("DepthToSpace", [x], (batch, channels // 4, 2 * height, 2 * width), blocksize=2, **attributes))
    if height % 2 or width % 2:
        raise Impossible("odd planes")
    return s.finish(s.node("SpaceToDepth", [x], (batch, 4 * channels, height // 2, width // 2), blocksize=2))


def pixels_to_space(s, x, r):
    """Groups of r * r channels become squares of pixels, by Reshape and Transpose."""
    if s.shape(x)[1] % (r * r) or s.chance(0.5):  # the convolution in front makes as many channels as are needed
        batch, channels, height, width = s.shape(x)
        out = r * r * s.choose(1, 2, 3)
        spend(s, batch * out * channels * height * width)
        x = s.node("Conv", [x, s.weights((out, channels, 1, 1), channels), s.numbers((out,), 0.5)], (batch, out, height, width))
    batch, channels, height, width = s.shape(x)
    first, out = 0 if s.open_batch else batch, channels // (r * r)
    if s.chance(0.6):  # CRD, PyTorch's pixel_shuffle
        shape, perm = (batch, out, r, r, height, width), [0, 1, 4, 2, 5, 3]
    else:  # DCR
        shape, perm = (batch, r, r, out, height, width), [0, 3, 4, 1, 5, 2]
    y = s.node("Reshape", [x, s.axes([first, *shape[1:]])], shape)
    y = s.node("Transpose", [y], tuple(shape[i] for i in perm), perm=perm)
    shape = (out, height * r, width * r)
    return s.node("Reshape", [y, s.axes([first, *shape])], (batch, *shape))


def slices_of_pixels(s, x):
    """Every second pixel from each of four places, joined by channels: how YOLO begins."""
    batch, channels, height, width = s.shape(x)
    parts = []
    together = s.chance(0.5)
    for left, top in ((0, 0), (0, 1), (1, 0), (1, 1)):  # the order of PyTorch's Focus
        half = (batch, channels, height // 2, width // 2)
        if together:
            y = s.node("Slice", [x, s.axes([top, left]), s.axes([height, width]), s.axes([2, 3]), s.axes([2, 2])], half)
        else:
            y = s.node("Slice", [x, s.axes([top]), s.axes([2**31 - 1]), s.axes([2]), s.axes([2])], (*half[:3], width))
            y = s.node("Slice", [y, s.axes([left]), s.axes([2**31 - 1]), s.axes([3]), s.axes([2])], half)
        parts.append(y)
    if s.chance(0.3):  # that of SpaceToDepth
        parts[1:3] = parts[2:0:-1]
    elif s.chance(0.15):
        s.random.shuffle(parts)
    return s.node("Concat", parts, (batch, 4 * channels, height // 2, width // 2), axis=1)


def whole_blocks(s, x, r):
    """Planes that are no multiples of r are padded, as in front of windows."""
    batch, channels, *planes = s.shape(x)
    missing = [-n % r for n in planes]
    if not any(missing):
        return x
    pads, shape = [0] * 6 + missing, (batch, channels, *[n + m for n, m in zip(planes, missing)])
    return s.node("Pad", [x], shape, pads=pads) if s.opset < 11 else s.node("Pad", [x, s.axes(pads)], shape)


def space_to_channels(s, x, r):
    """The inverse of pixels_to_space."""
    batch, channels, height, width = s.shape(x)
    if r == 2 and s.chance(0.5):
        return slices_of_pixels(s, x)
    first = 0 if s.open_batch else batch
    shape = (batch, channels, height // r, r, width // r, r)
    y = s.node("Reshape", [x, s.axes([first, *shape[1:]])], shape)
    perm = s.choose([0, 1, 3, 5, 2, 4], [0, 3, 5, 1, 2, 4])  # PyTorch's pixel_unshuffle; SpaceToDepth
    y = s.node("Transpose", [y], tuple(shape[i] for i in perm), perm=perm)
    shape = (channels * r * r, height // r, width // r)
    return s.node("Reshape", [y, s.axes([first, *shape])], (batch, *shape))


def pixels(s, x):
    """Pixels shuffled by hand, with a convolution behind."""
    needs(s, x, 4)
    r = s.choose(2, 2, 2, 3)
    if s.chance(0.5):
        y = space_to_channels(s, whole_blocks(s, x, r), r)
    else:
        y = pixels_to_space(s, x, r)
    s.finish(y)
    return conv(s, y) if s.chance(0.4) else y


MAKERS = {"squeeze_and_excite": (squeeze_and_excite, 0.7), "channels_last": (channels_last, 1), "shuffle": (shuffle, 0.7), "pixels": (pixels, 1),
          "tokens": (tokens, 0.8), "split_and_join": (split_and_join, 0.8), "classifier": (classifier, 0.7),
          "depth_and_space": (depth_and_space, 0.4)}
ANY_RANK = {"branches": (branches, 0.7), "feed_forward": (feed_forward, 0.9)}
