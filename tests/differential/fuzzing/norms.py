# SPDX-License-Identifier: Apache-2.0
"""Makers of norms over planes: of a channel, of a group of channels, of an image, and of the channels of one place."""
import numpy as np

from .planes import conv
from .sketch import Impossible


def epsilon(s):
    """Mostly not tiny: it bounds how much a plane of nearly equal numbers makes of their rounding."""
    return float(s.choose(1e-5, 1e-3, 1e-2, 1e-2))


def gains(s, shape):
    return s.constant((1 + 0.3 * s.random.standard_normal(shape)).astype(np.float32))


def draw_groups(s, x):
    channels = s.shape(x)[1]
    return int(s.choose(*(g for g in range(1, channels + 1) if channels % g == 0)))


def instance_norm(s, x):
    channels = s.shape(x)[1]
    return s.node("InstanceNormalization", [x, gains(s, channels), s.numbers((channels,), 0.3)], s.shape(x), epsilon=epsilon(s))


def group_norm(s, x):
    if s.opset < 18:
        raise Impossible("version")
    groups = draw_groups(s, x)
    count = groups if s.opset < 21 else s.shape(x)[1]
    return s.node("GroupNormalization", [x, gains(s, count), s.numbers((count,), 0.3)], s.shape(x), num_groups=groups, epsilon=epsilon(s))


def spelled_out_group_norm(s, x):
    """As PyTorch's exporter writes it: groups are the channels of an InstanceNormalization without gains."""
    batch, channels, *planes = s.shape(x)
    groups = draw_groups(s, x)
    y = s.node("Reshape", [x, s.axes([0, groups, -1])], (batch, groups, channels // groups * int(np.prod(planes))))
    if x in s.open_planes:
        s.inside.add(y)
    ones, zeros = s.constant(np.ones(groups, np.float32)), s.constant(np.zeros(groups, np.float32))
    y = s.node("InstanceNormalization", [y, ones, zeros], s.shape(y), epsilon=epsilon(s))
    if x in s.open_planes:
        s.inside.add(y)
    if x in s.open_planes or s.chance(0.5):
        back = s.node("Shape", [x], (s.rank(x),))
        s.integers.add(back)
    else:
        back = s.axes([0 if s.open_batch else batch, channels, *planes])
    y = s.node("Reshape", [y, back], s.shape(x))
    if x in s.open_planes:
        s.open_planes.add(y)
    shape = (channels, *[1] * len(planes))
    if s.chance(0.2):
        shape = (1, *shape)
    if s.chance(0.9):
        y = s.node("Mul", [y, gains(s, shape)][::s.choose(1, -1)], s.shape(x))
        y = s.node("Add", [y, s.numbers(shape, 0.3)][::s.choose(1, -1)], s.shape(x))
    return y


def image_norm(s, x):
    """All numbers of an image, as one group: each has its gain."""
    if s.opset < 17 or x in s.open_planes:
        raise Impossible("version")
    shape = s.shape(x)[1:]
    return s.node("LayerNormalization", [x, gains(s, shape), s.numbers(shape, 0.3)], s.shape(x), axis=s.choose(1, -len(shape)), epsilon=epsilon(s))


def channel_norm(s, x):
    """Over the channels of each place, which lie at the end for it."""
    if s.opset < 17 or x in s.open_planes:
        raise Impossible("version")
    batch, channels, *planes = s.shape(x)
    rank = s.rank(x)
    y = s.node("Transpose", [x], (batch, *planes, channels), perm=[0, *range(2, rank), 1])
    inputs = [y, gains(s, channels)] + ([s.numbers((channels,), 0.3)] if s.chance(0.8) else [])
    y = s.node("LayerNormalization", inputs, s.shape(y), axis=-1, epsilon=epsilon(s))
    return s.node("Transpose", [y], s.shape(x), perm=[0, rank - 1, *range(1, rank - 1)])


def norm(s, x):
    """A norm where networks have it: behind a convolution, a function behind it, the next convolution behind that."""
    if s.chance(0.5):
        x = conv(s, x)
    kind = s.choose(*[instance_norm, group_norm, group_norm, spelled_out_group_norm] * 2, image_norm, channel_norm)
    y = kind(s, x)
    function = s.choose("", "", "Relu", "swish", "LeakyRelu")
    if function == "swish":
        y = s.node("Mul", [y, s.node("Sigmoid", [y], s.shape(y))][::s.choose(1, -1)], s.shape(y))
    elif function:
        y = s.node(function, [y], s.shape(y))
    if s.chance(0.2):
        y = s.node("Add", [x, y][::s.choose(1, -1)], s.shape(x))
    s.finish(y)
    return conv(s, y) if s.chance(0.4) else y


MAKERS = {"norm": (norm, 1.6)}
