# SPDX-License-Identifier: Apache-2.0
"""Networks over one image (and one over a line of sound): classifiers, faces, segmentation, detection, restoration."""
import numpy
from networks.net import Net


def vit():
    net = Net([1, 3, 224, 224])
    x = net.reshape(net.conv("x", 3, 384, 16, 16, pad=0), 1, 384, 196)
    x = net.op("Concat", net.normal((1, 1, 384), 1), net.op("Transpose", x, perm=[0, 2, 1]), axis=1)
    x = net.op("Add", x, net.normal((1, 197, 384), 0.1))
    for _ in range(4):
        x = net.op("Add", x, net.attention(net.layer_norm(x, 384), 384, 6, 197))
        x = net.op("Add", x, net.feed_forward(x, 384))
    return net, net.linear(net.op("Gather", net.layer_norm(x, 384), net.constant(numpy.int64(0)), axis=1), 384, 100)


def swin():
    net = Net([1, 3, 224, 224])
    x = net.op("Transpose", net.conv("x", 3, 96, 4, 4, pad=0), perm=[0, 2, 3, 1])
    for _ in range(2):
        y = net.op("Transpose", net.reshape(net.layer_norm(x, 96), 1, 8, 7, 8, 7, 96), perm=[0, 1, 3, 2, 4, 5])
        y = net.attention(net.reshape(y, 64, 49, 96), 96, 3, 49, 64)
        y = net.op("Transpose", net.reshape(y, 1, 8, 8, 7, 7, 96), perm=[0, 1, 3, 2, 4, 5])
        x = net.op("Add", x, net.reshape(y, 1, 56, 56, 96))
        x = net.op("Add", x, net.feed_forward(x, 96))
    return net, x


def convnext():
    net = Net([1, 3, 224, 224])
    x = net.conv("x", 3, 96, 4, 4, pad=0)
    for _ in range(3):
        y = net.feed_forward(net.op("Transpose", net.conv(x, 96, 96, 7, group=96), perm=[0, 2, 3, 1]), 96)
        y = net.op("Transpose", net.op("Mul", y, net.numbers(0.1, 0.5, 96)), perm=[0, 3, 1, 2])
        x = net.op("Add", x, y)
    return net, net.op("GlobalAveragePool", x)


def regnet():
    net = Net([1, 3, 224, 224])
    x, ins = net.relu(net.conv("x", 3, 32, 3, 2)), 32
    for outs, count in ((48, 1), (104, 2), (208, 3)):
        for i in range(count):
            stride = 1 if i else 2
            y = net.relu(net.conv(net.relu(net.conv(x, ins, outs)), outs, outs, 3, stride, group=outs // 8))
            y = net.conv(net.squeeze_excite(y, outs, max(ins // 4, 8)), outs, outs)
            x = net.relu(net.op("Add", y, x if i else net.conv(x, ins, outs, 1, stride)))
            ins = outs
    return net, net.op("GlobalAveragePool", x)


def se_resnet():
    net = Net([1, 3, 224, 224])
    x, ins = net.max_pool(net.relu(net.conv("x", 3, 64, 7, 2)), 3, 2, 1), 64
    for outs, stride in ((256, 1), (256, 1), (512, 2)):
        y = net.relu(net.conv(net.relu(net.conv(x, ins, outs // 4)), outs // 4, outs // 4, 3, stride))
        y = net.squeeze_excite(net.conv(y, outs // 4, outs), outs, outs // 16)
        x, ins = net.relu(net.op("Add", y, x if ins == outs else net.conv(x, ins, outs, 1, stride))), outs
    return net, net.op("GlobalAveragePool", x)


def efficientnet():
    net = Net([1, 3, 224, 224])
    x, ins = net.silu(net.conv("x", 3, 32, 3, 2)), 32
    for wide, outs, kernel, stride in ((32, 16, 3, 1), (96, 24, 3, 2), (144, 24, 3, 1), (144, 40, 5, 2), (240, 40, 5, 1), (240, 80, 3, 2)):
        y = x if wide == ins else net.silu(net.conv(x, ins, wide))
        y = net.silu(net.conv(y, wide, wide, kernel, stride, group=wide))
        y = net.conv(net.squeeze_excite(y, wide, max(ins // 4, 4), function="silu"), wide, outs)
        x, ins = net.op("Add", x, y) if stride == 1 and ins == outs else y, outs
    return net, net.op("GlobalAveragePool", x)


def mobilenet_v3():
    net = Net([1, 3, 224, 224])
    x, ins = net.op("HardSwish", net.conv("x", 3, 16, 3, 2)), 16
    for wide, outs, kernel, stride, gated, hard in ((16, 16, 3, 2, 1, 0), (72, 24, 3, 2, 0, 0), (88, 24, 3, 1, 0, 0), (96, 40, 5, 2, 1, 1),
                                                    (240, 40, 5, 1, 1, 1), (120, 48, 5, 1, 1, 1)):
        kind = "HardSwish" if hard else "Relu"
        y = net.op(kind, net.conv(net.op(kind, net.conv(x, ins, wide)), wide, wide, kernel, stride, group=wide))
        y = net.squeeze_excite(y, wide, max(wide // 4, 8), "HardSigmoid") if gated else y
        y = net.conv(y, wide, outs)
        x, ins = net.op("Add", x, y) if stride == 1 and ins == outs else y, outs
    return net, net.op("GlobalAveragePool", x)


def ghostnet():
    net = Net([1, 3, 224, 224])

    def ghost(x, ins, outs, function):
        first = function(net.conv(x, ins, outs // 2))
        return net.op("Concat", first, function(net.conv(first, outs // 2, outs // 2, 3, group=outs // 2)), axis=1)
    x, ins = net.relu(net.conv("x", 3, 16, 3, 2)), 16
    for wide, outs, stride, gated in ((16, 16, 1, 0), (48, 24, 2, 0), (72, 24, 1, 0), (72, 40, 2, 1), (120, 40, 1, 1)):
        y = ghost(x, ins, wide, net.relu)
        y = net.conv(y, wide, wide, 3, 2, group=wide) if stride == 2 else y
        y = net.squeeze_excite(y, wide, wide // 4, "HardSigmoid") if gated else y
        y = ghost(y, wide, outs, lambda value: value)
        x, ins = net.op("Add", y, x if stride == 1 else net.conv(net.conv(x, ins, ins, 3, stride, group=ins), ins, outs)), outs
    return net, net.op("GlobalAveragePool", x)


def mobile_face():
    net = Net([1, 3, 112, 112])
    x = net.prelu(net.conv("x", 3, 64, 3, 2), 64)
    x = net.prelu(net.conv(x, 64, 64, 3, group=64), 64)
    for i in range(5):
        y = net.prelu(net.conv(net.prelu(net.conv(x, 64, 128), 128), 128, 128, 3, 1 if i else 2, group=128), 128)
        y = net.conv(y, 128, 64)
        x = net.op("Add", x, y) if i else y
    return net, net.prelu(net.conv(x, 64, 512), 512)


def residual_face():
    net = Net([1, 3, 112, 112])
    x, ins = net.prelu(net.conv("x", 3, 64, 3), 64), 64
    for outs in (64, 64, 128, 128):
        stride = 1 if outs == ins else 2
        y = net.prelu(net.conv(net.batch_norm(x, ins), ins, outs, 3), outs)
        x, ins = net.op("Add", net.conv(y, outs, outs, 3, stride), x if stride == 1 else net.conv(x, ins, outs, 1, stride)), outs
    return net, net.batch_norm(x, ins)


def densenet():
    net = Net([1, 3, 224, 224])
    x, width = net.max_pool(net.relu(net.conv("x", 3, 64, 7, 2)), 3, 2, 1), 64
    for _ in range(6):
        y = net.relu(net.conv(net.relu(net.batch_norm(x, width)), width, 128))
        x, width = net.op("Concat", x, net.conv(y, 128, 32, 3), axis=1), width + 32
    x = net.conv(net.relu(net.batch_norm(x, width)), width, 128)
    return net, net.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])


def unet(rises):
    net = Net([1, 3, 192, 192])
    x, ins, kept = "x", 3, []
    for depth in range(4):
        outs = 32 << depth
        x = net.relu(net.conv(net.relu(net.conv(net.max_pool(x) if depth else x, ins, outs, 3)), outs, outs, 3))
        kept.append((x, outs))
        ins = outs
    for shortcut, outs in reversed(kept[:3]):
        rising, width = rises(net, x, ins, outs)
        x = net.relu(net.conv(net.op("Concat", shortcut, rising, axis=1), outs + width, outs, 3))
        ins = outs
    return net, net.op("Sigmoid", net.conv(x, ins, 1))


def unet_bilinear():
    return unet(lambda net, x, ins, outs: (net.enlarge(x), ins))


def unet_transposed():
    def rises(net, x, ins, outs):
        return net.op("ConvTranspose", x, net.normal((ins, outs, 2, 2), ins ** -0.5), kernel_shape=[2, 2], strides=[2, 2]), outs
    return unet(rises)


def image_to_image():
    net = Net([1, 3, 256, 256])
    x, ins, kept = "x", 3, []
    for outs in (32, 64, 128, 256):
        x, ins = net.op("LeakyRelu", net.conv(x, ins, outs, 4, 2, pad=1), alpha=0.2), outs
        kept.append((x, outs))
    for shortcut, outs in reversed(kept[:3]):
        x = net.op("ConvTranspose", x, net.normal((ins, outs, 4, 4), 0.05), kernel_shape=[4, 4], strides=[2, 2], pads=[1] * 4)
        x, ins = net.op("Concat", shortcut, net.relu(x), axis=1), 2 * outs
    return net, net.op("Tanh", net.conv(x, ins, 3, 3))


def deeplab():
    net = Net([1, 3, 256, 256])
    x = net.relu(net.conv("x", 3, 64, 3, 4))
    parts = [net.relu(net.conv(x, 64, 64))] + [net.relu(net.conv(x, 64, 64, 3, dilation=d)) for d in (6, 12, 18)]
    parts.append(net.enlarge(net.relu(net.conv(net.op("GlobalAveragePool", x), 64, 64)), 64))
    return net, net.enlarge(net.conv(net.relu(net.conv(net.op("Concat", *parts, axis=1), 320, 64)), 64, 21), 4)


def yolo():
    net = Net([1, 3, 320, 320])

    def conv(x, ins, outs, kernel=1, stride=1):
        return net.silu(net.conv(x, ins, outs, kernel, stride))

    def stage(x, ins, outs, count):
        first, second, half = conv(x, ins, outs // 2), conv(x, ins, outs // 2), outs // 2
        for _ in range(count):
            first = net.op("Add", first, conv(conv(first, half, half), half, half, 3))
        return conv(net.op("Concat", first, second, axis=1), outs, outs)
    x = stage(conv(conv("x", 3, 16, 3, 2), 16, 32, 3, 2), 32, 32, 1)
    shortcut = stage(conv(x, 32, 64, 3, 2), 64, 64, 2)
    pools = [conv(stage(conv(shortcut, 64, 128, 3, 2), 128, 128, 3), 128, 64)]
    for _ in range(3):
        pools.append(net.max_pool(pools[-1], 5, 1, 2))
    x = conv(conv(net.op("Concat", *pools, axis=1), 256, 128), 128, 64)
    x = stage(net.op("Concat", net.enlarge(x, mode="nearest"), shortcut, axis=1), 128, 64, 1)
    return net, net.conv(x, 64, 255)


def super_resolution():
    net = Net([1, 3, 96, 96])
    x = first = net.relu(net.conv("x", 3, 64, 3))
    for _ in range(4):
        x = net.op("Add", x, net.conv(net.relu(net.conv(x, 64, 64, 3)), 64, 64, 3))
    x = net.op("DepthToSpace", net.conv(net.op("Add", x, first), 64, 256, 3), blocksize=2, mode="CRD")
    return net, net.conv(x, 64, 3, 3)


def speech_separation():
    net = Net([1, 1, 16000])

    def prelu(x):
        return net.op("PRelu", x, net.constant(numpy.array([0.25], numpy.float32)))
    x = net.conv(net.relu(net.conv("x", 1, 128, 16, 8, pad=0, rank=1)), 128, 128, rank=1)
    for i in range(6):
        y = prelu(net.conv(x, 128, 256, rank=1))
        y = net.op("InstanceNormalization", y, net.numbers(0.5, 1.5, 256), net.normal(256, 0.1))
        y = prelu(net.conv(y, 256, 256, 3, group=256, dilation=2 ** i, rank=1))
        x = net.op("Add", x, net.conv(y, 256, 128, rank=1))
    return net, x


FAMILIES = (convnext, deeplab, densenet, efficientnet, ghostnet, image_to_image, mobile_face, mobilenet_v3, regnet, residual_face, se_resnet,
            speech_separation, super_resolution, swin, unet_bilinear, unet_transposed, vit, yolo)
