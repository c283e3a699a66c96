# SPDX-License-Identifier: Apache-2.0
"""Networks that make images, and those that mend, restyle or align them."""
import numpy
from networks.net import INT64, Net


def time_embedding(net, step, width):
    """Sines and cosines of a diffusion step, and two linear layers."""
    rates = net.constant(numpy.exp(-numpy.log(10000) * numpy.arange(64) / 64).astype(numpy.float32)[None])
    angles = net.op("Mul", net.op("Cast", net.op("Unsqueeze", step, net.ints(1)), to=1), rates)
    both = net.concat(net.op("Cos", angles), net.op("Sin", angles), axis=-1)
    return net.gemm(net.silu(net.gemm(both, 128, width)), width, width)


def diffusion_unet():
    """Residual blocks that are told the time, attention over pixels and to a text, GEGLU, a way down and up."""
    net = Net()
    x, step = net.input("sample", ["batch", 4, 32, 32]), net.input("timestep", ["batch"], INT64)
    text = net.input("encoder_hidden_states", ["batch", 77, 192])
    batch, time = net.size(x, 0), time_embedding(net, step, 256)

    def residual(x, ins, outs):
        y = net.conv(net.silu(net.group_norm(x, 32, ins)), ins, outs, 3)
        told = net.op("Unsqueeze", net.op("Unsqueeze", net.gemm(net.silu(time), 256, outs), net.ints(2)), net.ints(3))
        y = net.conv(net.silu(net.group_norm(net.op("Add", y, told), 32, outs)), outs, outs, 3)
        return net.op("Div", net.op("Add", x if ins == outs else net.conv(x, ins, outs), y), net.scalar(1))

    def attention(x, context, width, ins, heads=4):
        query, key, value = (net.heads_of(net.matmul(part, size, width), batch, heads, width // heads)
                             for part, size in ((x, width), (context, ins), (context, ins)))
        scores = net.op("Mul", net.op("MatMul", query, net.turn(key, 0, 1, 3, 2)), net.scalar((width // heads) ** -0.5))
        context = net.turn(net.op("MatMul", net.op("Softmax", scores, axis=-1), value), 0, 2, 1, 3)
        return net.linear(net.view(context, batch, -1, width), width, width)

    def transformer(x, width):
        height, wide = net.size(x, 2), net.size(x, 3)
        y = net.conv(net.group_norm(x, 32, width), width, width)
        y = net.view(net.turn(y, 0, 2, 3, 1), batch, net.op("Mul", height, wide), width)
        norm = net.layer_norm(y, width)
        y = net.op("Add", attention(norm, norm, width, width), y)
        y = net.op("Add", attention(net.layer_norm(y, width), text, width, 192), y)
        one, two = net.split(net.linear(net.layer_norm(y, width), width, 8 * width), 4 * width, 4 * width)
        y = net.op("Add", net.linear(net.op("Mul", one, net.gelu(two)), 4 * width, width), y)
        y = net.turn(net.view(y, batch, height, wide, width), 0, 3, 1, 2)
        return net.op("Add", net.conv(y, width, width), x)
    x = first = net.conv(x, 4, 64, 3)
    x = second = residual(x, 64, 64)
    x = net.conv(x, 64, 64, 3, 2)
    x = transformer(residual(x, 64, 192), 192)
    x = transformer(residual(x, 192, 192), 192)
    x = net.conv(net.enlarge(x, mode="nearest"), 192, 192, 3)
    x = residual(net.concat(x, second), 256, 64)
    x = residual(net.concat(x, first), 128, 64)
    return net, net.conv(net.silu(net.group_norm(x, 32, 64)), 64, 4, 3)


def style_generator():
    """Convolutions whose weights a style scales, twice as large by a transposed Conv and a blur, noise on top."""
    net = Net()
    style = net.input("w", [1, 256])
    length = net.op("Sqrt", net.op("Add", net.op("ReduceMean", net.op("Pow", style, net.scalar(2)), axes=[1]), net.scalar(1e-8)))
    style = net.op("Div", style, length)
    for _ in range(4):
        style = net.op("Mul", net.op("LeakyRelu", net.gemm(style, 256, 256), alpha=0.2), net.scalar(2 ** 0.5))
    blur = numpy.array([1, 3, 3, 1], numpy.float32)
    blur = net.constant((numpy.outer(blur, blur) / 16).reshape(1, 1, 4, 4))

    def modulated(x, ins, outs, size, rises, kernel=3, demodulates=True):
        scale = net.reshape(net.gemm(style, 256, ins), 1, 1, ins, 1, 1)
        weights = net.op("Mul", net.normal((1, outs, ins, kernel, kernel), (kernel * kernel * ins) ** -0.5), scale)
        if demodulates:
            total = net.op("ReduceSum", net.op("Pow", weights, net.scalar(2)), net.ints(2, 3, 4), keepdims=0)
            inverse = net.op("Reciprocal", net.op("Sqrt", net.op("Add", total, net.scalar(1e-8))))
            weights = net.op("Mul", weights, net.reshape(inverse, 1, outs, 1, 1, 1))
        x = net.reshape(x, 1, ins, size, size)
        if not rises:
            weights = net.reshape(weights, outs, ins, kernel, kernel)
            return net.op("Conv", x, weights, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=1)
        weights = net.reshape(net.turn(weights, 0, 2, 1, 3, 4), ins, outs, 3, 3)
        x = net.op("ConvTranspose", x, weights, kernel_shape=[3, 3], strides=[2, 2], pads=[0] * 4, group=1)
        x = net.op("Pad", net.reshape(x, outs, 1, 2 * size + 1, 2 * size + 1), net.ints(0, 0, 1, 1, 0, 0, 1, 1), net.scalar(0))
        return net.reshape(net.op("Conv", x, blur, kernel_shape=[4, 4]), 1, outs, 2 * size, 2 * size)

    def active(x, outs, size):
        x = net.op("Add", x, net.op("Mul", net.normal((1, 1, size, size), 1), net.scalar(0.1)))
        x = net.op("LeakyRelu", net.op("Add", x, net.normal((1, outs, 1, 1), 0.1)), alpha=0.2)
        return net.op("Mul", x, net.scalar(2 ** 0.5))
    x, ins, size, picture = net.normal((1, 192, 8, 8), 1), 192, 8, None
    for outs in (128, 64, 32):
        x = active(modulated(x, ins, outs, size, True), outs, 2 * size)
        x, ins, size = active(modulated(x, outs, outs, 2 * size, False), outs, 2 * size), outs, 2 * size
        colours = net.op("Add", modulated(x, ins, 3, size, False, 1, False), net.normal((1, 3, 1, 1), 0.1))
        picture = colours if picture is None else net.op("Add", colours, net.enlarge(picture))
    return net, picture


def vae_decoder():
    net = Net(["batch", 4, 16, 16])

    def residual(x, ins, outs):
        y = net.conv(net.silu(net.group_norm(x, 32, ins)), ins, outs, 3)
        y = net.conv(net.silu(net.group_norm(y, 32, outs)), outs, outs, 3)
        return net.op("Add", x if ins == outs else net.conv(x, ins, outs), y)
    x = residual(net.conv("x", 4, 128, 3), 128, 128)
    y = net.turn(net.view(net.group_norm(x, 32, 128), net.size(x, 0), 128, 256), 0, 2, 1)
    query, key, value = (net.linear(y, 128, 128) for _ in range(3))
    scores = net.op("Mul", net.op("MatMul", query, net.turn(key, 0, 2, 1)), net.scalar(128 ** -0.5))
    y = net.linear(net.op("MatMul", net.op("Softmax", scores, axis=-1), value), 128, 128)
    x = residual(net.op("Add", x, net.view(net.turn(y, 0, 2, 1), net.size(x, 0), 128, 16, 16)), 128, 128)
    x = residual(net.conv(net.enlarge(x, mode="nearest"), 128, 128, 3), 128, 64)
    x = residual(net.conv(net.enlarge(x, mode="nearest"), 64, 64, 3), 64, 32)
    return net, net.conv(net.silu(net.group_norm(x, 32, 32)), 32, 3, 3)


def restormer():
    """Attention between channels, whose queries and keys have length one, and gated depthwise layers."""
    net, width, heads, size = Net([1, 3, 64, 64]), 48, 2, 64
    x = net.conv_of("x", 3, width, (3, 3), bias=False)

    def norm(x):
        y = net.reshape(net.turn(x, 0, 2, 3, 1), 1, size * size, width)
        return net.turn(net.reshape(net.layer_norm_written(y, width), 1, size, size, width), 0, 3, 1, 2)

    def unit(x):
        length = net.op("Clip", net.op("ReduceL2", x, axes=[-1], keepdims=1), net.scalar(1e-12))
        return net.op("Div", x, net.op("Expand", length, net.op("Shape", x)))
    for _ in range(2):
        y = net.conv_of(norm(x), width, 3 * width, (1, 1), bias=False)
        y = net.conv_of(y, 3 * width, 3 * width, (3, 3), group=3 * width, bias=False)
        query, key, value = (net.reshape(part, 1, heads, width // heads, size * size) for part in net.split(y, width, width, width, axis=1))
        scores = net.op("MatMul", unit(query), net.turn(unit(key), 0, 1, 3, 2))
        scores = net.op("Softmax", net.op("Mul", scores, net.numbers(0.5, 2, heads, 1, 1)), axis=-1)
        y = net.reshape(net.op("MatMul", scores, value), 1, width, size, size)
        x = net.op("Add", x, net.conv_of(y, width, width, (1, 1), bias=False))
        inner = 127
        y = net.conv_of(norm(x), width, 2 * inner, (1, 1), bias=False)
        y = net.conv_of(y, 2 * inner, 2 * inner, (3, 3), group=2 * inner, bias=False)
        one, two = net.split(y, inner, inner, axis=1)
        x = net.op("Add", x, net.conv_of(net.op("Mul", net.gelu(one), two), inner, width, (1, 1), bias=False))
    return net, net.op("Add", net.conv_of(x, width, 3, (3, 3), bias=False), "x")


def nafnet():
    """Restoration without functions: halves multiplied, layer norms over channels, pixel shuffles."""
    net = Net([1, 3, 96, 96])

    def block(x, width):
        y = net.conv(net.layer_norm_written(x, width, 1), width, 2 * width)
        one, two = net.split(net.conv(y, 2 * width, 2 * width, 3, group=2 * width), width, width, axis=1)
        y = net.op("Mul", one, two)
        y = net.op("Mul", y, net.conv(net.op("GlobalAveragePool", y), width, width))
        x = net.op("Add", x, net.op("Mul", net.conv(y, width, width), net.numbers(0.1, 0.5, 1, width, 1, 1)))
        one, two = net.split(net.conv(net.layer_norm_written(x, width, 1), width, 2 * width), width, width, axis=1)
        return net.op("Add", x, net.op("Mul", net.conv(net.op("Mul", one, two), width, width), net.numbers(0.1, 0.5, 1, width, 1, 1)))
    x = first = block(net.conv("x", 3, 32, 3), 32)
    x = block(block(net.conv(x, 32, 64, 2, 2, pad=0), 64), 64)
    x = net.op("DepthToSpace", net.conv_of(x, 64, 128, (1, 1), bias=False), blocksize=2, mode="CRD")
    return net, net.op("Add", net.conv(block(net.op("Add", x, first), 32), 32, 3, 3), "x")


def style_transfer():
    """Reflected borders, instance norms, enlarging before a Conv of 9 x 9."""
    net = Net([1, 3, 128, 128])

    def conv(x, ins, outs, kernel, stride=1):
        half = kernel // 2
        x = net.op("Pad", x, net.ints(0, 0, half, half, 0, 0, half, half), mode="reflect")
        return net.conv(x, ins, outs, kernel, stride, pad=0)

    def norm(x, width):
        return net.op("InstanceNormalization", x, net.numbers(0.5, 1.5, width), net.normal(width, 0.1), epsilon=1e-5)
    x = net.relu(norm(conv("x", 3, 16, 9), 16))
    x = net.relu(norm(conv(x, 16, 32, 3, 2), 32))
    x = net.relu(norm(conv(x, 32, 64, 3, 2), 64))
    for _ in range(2):
        x = net.op("Add", norm(conv(net.relu(norm(conv(x, 64, 64, 3), 64)), 64, 64, 3), 64), x)
    x = net.relu(norm(conv(net.enlarge(x, mode="nearest"), 64, 32, 3), 32))
    x = net.relu(norm(conv(net.enlarge(x, mode="nearest"), 32, 16, 3), 16))
    return net, conv(x, 16, 3, 9)


def optical_flow():
    """Correlation of two images, looked up by GridSample around a flow that a convolutional GRU improves."""
    net = Net()
    images, size = [net.input(f"image{i}", [1, 3, 128, 128]) for i in (1, 2)], 16
    weights = [(3, 32, 7), (32, 48, 3), (48, 64, 3)]
    drawn = [(net.normal((outs, ins, kernel, kernel), (2 / ins) ** 0.5 / kernel), net.normal(outs, 0.1), kernel) for ins, outs, kernel in weights]
    features = []
    for x in images:
        for weight, bias, kernel in drawn:
            x = net.op("Conv", x, weight, bias, kernel_shape=[kernel] * 2, strides=[2, 2], pads=[kernel // 2] * 4)
            x = net.relu(x)
        features.append(net.reshape(x, 1, 64, size * size))
    scores = net.op("Div", net.op("MatMul", net.turn(features[0], 0, 2, 1), features[1]), net.scalar(8))
    scores = net.reshape(scores, size * size, 1, size, size)
    grid = numpy.stack(numpy.meshgrid(numpy.arange(size), numpy.arange(size)), 0).astype(numpy.float32)[None]
    around = numpy.stack(numpy.meshgrid(numpy.arange(-3, 4), numpy.arange(-3, 4)), -1).astype(numpy.float32)[None]
    start, around = net.constant(grid), net.constant(around)
    places, state = start, net.op("Tanh", net.reshape(features[0], 1, 64, size, size))
    for _ in range(3):
        centre = net.reshape(net.turn(places, 0, 2, 3, 1), size * size, 1, 1, 2)
        wanted = net.op("Add", centre, around)
        wanted = net.op("Sub", net.op("Div", net.op("Mul", wanted, net.scalar(2)), net.scalar(size - 1)), net.scalar(1))
        seen = net.op("GridSample", scores, wanted, mode="bilinear", padding_mode="zeros", align_corners=1)
        seen = net.turn(net.reshape(seen, 1, size, size, 49), 0, 3, 1, 2)
        flow = net.op("Sub", places, start)
        told = net.relu(net.conv(net.concat(seen, flow), 51, 64, 3))
        both = net.concat(state, told)
        keep, reset = (net.op("Sigmoid", net.conv(both, 128, 64, 3)) for _ in range(2))
        new = net.op("Tanh", net.conv(net.concat(net.op("Mul", reset, state), told), 128, 64, 3))
        state = net.op("Add", net.op("Mul", net.op("Sub", net.scalar(1), keep), state), net.op("Mul", keep, new))
        places = net.op("Add", places, net.conv(net.relu(net.conv(state, 64, 64, 3)), 64, 2, 3))
    return net, net.enlarge(net.op("Sub", places, start), 8)


FAMILIES = (diffusion_unet, nafnet, optical_flow, restormer, style_generator, style_transfer, vae_decoder)
