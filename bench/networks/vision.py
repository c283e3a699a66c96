# SPDX-License-Identifier: Apache-2.0
"""Networks over images that mix convolutions with what exporters write out: shuffles, weights that are computed, fusions, queries."""
import numpy
from networks.net import Net


def mlp_mixer():
    net, width, tokens = Net([1, 3, 224, 224]), 256, 196
    x = net.turn(net.reshape(net.conv("x", 3, width, 16, 16, pad=0), 1, width, tokens), 0, 2, 1)
    for _ in range(4):
        y = net.turn(net.layer_norm(x, width), 0, 2, 1)
        y = net.linear(net.gelu(net.linear(y, tokens, 128)), 128, tokens)
        x = net.op("Add", x, net.turn(y, 0, 2, 1))
        x = net.op("Add", x, net.feed_forward(x, width))
    return net, net.gemm(net.op("ReduceMean", net.layer_norm(x, width), axes=[1], keepdims=0), width, 100)


def shufflenet():
    net = Net(["batch", 3, 224, 224])

    def shuffle(x, width):
        batch, high, wide = (net.size(x, axis) for axis in (0, 2, 3))
        y = net.turn(net.view(x, batch, 2, width // 2, high, wide), 0, 2, 1, 3, 4)
        return net.view(y, batch, -1, high, wide)

    def branch(x, ins, half, stride):
        y = net.relu(net.conv(x, ins, half))
        return net.relu(net.conv(net.conv(y, half, half, 3, stride, group=half), half, half))
    x, ins = net.max_pool(net.relu(net.conv("x", 3, 24, 3, 2)), 3, 2, 1), 24
    for outs, count in ((116, 3), (232, 5)):
        half = outs // 2
        y = net.relu(net.conv(net.conv(x, ins, ins, 3, 2, group=ins), ins, half))
        x = shuffle(net.concat(y, branch(x, ins, half, 2)), outs)
        for _ in range(count):
            one, two = net.split(x, half, half, axis=1)
            x = shuffle(net.concat(one, branch(two, half, half, 1)), outs)
        ins = outs
    return net, net.op("ReduceMean", net.relu(net.conv(x, ins, 512)), axes=[2, 3], keepdims=0)


def inception():
    """Branches with 1 x 7 and 7 x 1, averages that leave the border out, batch norms after every Conv."""
    net = Net([1, 3, 149, 149])

    def conv(x, ins, outs, high=1, wide=1, stride=1, pads=None):
        y = net.conv_of(x, ins, outs, (high, wide), (stride, stride), pads, bias=False)
        return net.relu(net.batch_norm(y, outs))
    x = conv(conv("x", 3, 32, 3, 3, 2, [0] * 4), 32, 48, 3, 3, 2, [0] * 4)
    x = net.max_pool(conv(x, 48, 192, 3, 3, 1, [0] * 4), 3, 2)
    for _ in range(2):
        one = conv(x, 192, 48)
        two = conv(conv(conv(x, 192, 64), 64, 64, 1, 7), 64, 48, 7, 1)
        three = x
        for ins, outs, high, wide in ((192, 64, 1, 1), (64, 64, 7, 1), (64, 64, 1, 7), (64, 64, 7, 1), (64, 48, 1, 7)):
            three = conv(three, ins, outs, high, wide)
        four = net.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=1)
        x = net.concat(one, two, three, conv(four, 192, 48))
    one = net.concat(conv(x, 192, 64, 1, 3), conv(x, 192, 64, 3, 1))
    two = net.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=0)
    return net, net.op("GlobalAveragePool", net.concat(one, conv(two, 192, 64)))


def bifpn():
    """EfficientDet: levels added with weights that the graph computes, separable convolutions, SAME pools of TensorFlow."""
    net, width = Net([1, 3, 256, 256]), 64
    x = net.silu(net.conv_of("x", 3, 32, (3, 3), (2, 2), [0, 0, 1, 1]))
    x, levels, ins = net.silu(net.conv(x, 32, 32, 3, 2)), [], 32
    for outs in (48, 96, 160):
        x = net.silu(net.conv(net.silu(net.conv(x, ins, ins, 3, 2, group=ins)), ins, outs))
        levels.append(net.conv(x, outs, width))
        ins = outs

    def joined(*values):
        weight = net.relu(net.numbers(0.1, 1, len(values)))
        share = net.op("Div", weight, net.op("Add", net.op("ReduceSum", weight, net.ints(0), keepdims=0), net.scalar(1e-4)))
        parts = [net.op("Mul", net.op("Gather", share, net.constant(numpy.int64(i)), axis=0), value) for i, value in enumerate(values)]
        total = parts[0]
        for part in parts[1:]:
            total = net.op("Add", total, part)
        y = net.conv_of(net.silu(total), width, width, (3, 3), group=width, bias=False)
        return net.batch_norm(net.conv(y, width, width), width)

    def lower(x):
        return net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    for _ in range(2):
        high, middle, low = levels
        mixed = joined(middle, net.enlarge(low, mode="nearest"))
        high = joined(high, net.enlarge(mixed, mode="nearest"))
        middle = joined(middle, mixed, lower(high))
        levels = [high, middle, joined(low, lower(middle))]
    parts = []
    for x in levels:
        x = net.silu(net.conv(net.conv(x, width, width, 3, group=width), width, width))
        parts.append(net.reshape(net.turn(net.conv(x, width, 90), 0, 2, 3, 1), 1, -1, 10))
    return net, net.op("Sigmoid", net.concat(*parts))


def yolo_focus():
    """YOLOv5: every second pixel as a channel, SPP of three pools, boxes decoded on a grid."""
    net = Net([1, 3, 256, 256])

    def conv(x, ins, outs, kernel=1, stride=1):
        return net.op("HardSwish", net.conv(x, ins, outs, kernel, stride))

    def every_second(row, column):
        return net.cut(net.cut("x", row, 2 ** 62, 2, 2), column, 2 ** 62, 3, 2)

    def csp(x, ins, outs):
        half = outs // 2
        one = conv(x, ins, half)
        one = net.op("Add", one, conv(conv(one, half, half), half, half, 3))
        both = net.concat(net.conv(one, half, half), net.conv(x, ins, half))
        return conv(net.op("LeakyRelu", net.batch_norm(both, outs), alpha=0.1), outs, outs)
    x = conv(net.concat(*[every_second(*place) for place in ((0, 0), (1, 0), (0, 1), (1, 1))]), 12, 32, 3)
    x = csp(conv(x, 32, 64, 3, 2), 64, 64)
    x = csp(conv(x, 64, 96, 3, 2), 96, 96)
    y = conv(conv(x, 96, 128, 3, 2), 128, 64)
    y = conv(net.concat(y, *[net.max_pool(y, size, 1, size // 2) for size in (5, 9, 13)]), 256, 128)
    parts = []
    for value, ins, size in ((x, 96, 32), (y, 128, 16)):
        z = net.turn(net.reshape(net.conv(value, ins, 255), 1, 3, 85, size, size), 0, 1, 3, 4, 2)
        z = net.op("Sigmoid", z)
        grid = numpy.stack(numpy.meshgrid(numpy.arange(size), numpy.arange(size)), -1).astype(numpy.float32)[None, None]
        place = net.op("Sub", net.op("Mul", net.cut(z, 0, 2, 4), net.scalar(2)), net.scalar(0.5))
        place = net.op("Mul", net.op("Add", place, net.constant(grid)), net.scalar(256 / size))
        box = net.op("Pow", net.op("Mul", net.cut(z, 2, 4, 4), net.scalar(2)), net.scalar(2))
        box = net.op("Mul", box, net.numbers(10, 90, 1, 3, 1, 1, 2))
        parts.append(net.reshape(net.concat(place, box, net.cut(z, 4, 2 ** 62, 4), axis=4), 1, -1, 85))
    return net, net.concat(*parts)


def detr():
    """Queries that were learned look at an image; PyTorch's MultiheadAttention, tokens first."""
    net, width, heads, queries, tokens = Net(["batch", 3, 256, 256]), 256, 8, 100, 256
    batch = net.size("x", 0)
    x = net.relu(net.conv(net.max_pool(net.relu(net.conv("x", 3, 64, 7, 2)), 3, 2, 1), 64, 128, 3, 4))
    x = net.conv(x, 128, width)
    memory = net.turn(net.view(x, batch, width, -1), 2, 0, 1)
    place, query_place = net.normal((tokens, 1, width), 0.5), net.normal((queries, 1, width), 0.5)

    def attention(query, key, value, rows, columns):
        groups = net.op("Mul", batch, net.constant(numpy.int64(heads)))
        query = net.op("Mul", net.linear(query, width, width), net.scalar((width // heads) ** -0.5))
        query, key, value = (net.turn(net.view(part, count, groups, width // heads), 1, 0, 2) for part, count in
                             ((query, rows), (net.linear(key, width, width), columns), (net.linear(value, width, width), columns)))
        shares = net.op("Softmax", net.op("MatMul", query, net.turn(key, 0, 2, 1)), axis=-1)
        context = net.turn(net.op("MatMul", shares, value), 1, 0, 2)
        return net.linear(net.view(context, rows, batch, width), width, width)

    def fed(x):
        return net.layer_norm_written(net.op("Add", x, net.linear(net.relu(net.linear(x, width, 512)), 512, width)), width)
    where = net.op("Add", memory, place)
    memory = fed(net.layer_norm_written(net.op("Add", memory, attention(where, where, memory, tokens, tokens)), width))
    x = net.op("Expand", net.constant(numpy.zeros((queries, 1, width), numpy.float32)), net.joined(queries, batch, width))
    for _ in range(2):
        asked = net.op("Add", x, query_place)
        x = net.layer_norm_written(net.op("Add", x, attention(asked, asked, x, queries, queries)), width)
        y = attention(net.op("Add", x, query_place), net.op("Add", memory, place), memory, queries, tokens)
        x = fed(net.layer_norm_written(net.op("Add", x, y), width))
    x = net.turn(net.layer_norm_written(x, width), 1, 0, 2)
    boxes = net.linear(net.relu(net.linear(net.relu(net.linear(x, width, width)), width, width)), width, 4)
    return net, net.linear(x, width, 92), net.op("Sigmoid", boxes)


def gated_attention():
    """CBAM and coordinate attention: means and maxima over channels or one axis as gates."""
    net = Net([1, 3, 128, 128])
    x, ins = net.relu(net.conv("x", 3, 32, 3, 2)), 32
    for outs in (64, 96):
        x = net.relu(net.conv(x, ins, outs, 3, 2))
        size, ins = (32 if outs == 64 else 16), outs
        rows = net.op("ReduceMean", x, axes=[3], keepdims=1)
        columns = net.turn(net.op("ReduceMean", x, axes=[2], keepdims=1), 0, 1, 3, 2)
        y = net.op("HardSwish", net.batch_norm(net.conv(net.concat(rows, columns, axis=2), outs, 16), 16))
        rows, columns = net.split(y, size, size, axis=2)
        x = net.op("Mul", net.op("Mul", x, net.op("Sigmoid", net.conv(net.turn(columns, 0, 1, 3, 2), 16, outs))),
                   net.op("Sigmoid", net.conv(rows, 16, outs)))
        y = net.conv(net.relu(net.conv(x, outs, outs, 3)), outs, outs, 3)
        first, second = net.normal((outs // 8, outs, 1, 1), 0.1), net.normal((outs, outs // 8, 1, 1), 0.2)
        gates = [net.op("Conv", net.relu(net.op("Conv", net.op(kind, y), first)), second) for kind in ("GlobalAveragePool", "GlobalMaxPool")]
        y = net.op("Mul", y, net.op("Sigmoid", net.op("Add", *gates)))
        both = net.concat(net.op("ReduceMax", y, axes=[1], keepdims=1), net.op("ReduceMean", y, axes=[1], keepdims=1))
        x = net.relu(net.op("Add", x, net.op("Mul", y, net.op("Sigmoid", net.conv_of(both, 2, 1, (7, 7), bias=False)))))
    return net, net.op("GlobalAveragePool", x)


def involution():
    """Weights of each pixel from the pixel itself, over its neighbours as unfold gathers them."""
    net, width, groups, size, taps = Net([1, 3, 112, 112]), 64, 4, 28, 7
    x = net.relu(net.conv(net.relu(net.conv("x", 3, 32, 3, 2)), 32, width, 3, 2))
    places = numpy.arange(size)[:, None] + numpy.arange(taps)[None, :]
    for _ in range(2):
        weights = net.conv(net.relu(net.conv(x, width, 16)), 16, groups * taps * taps)
        weights = net.op("Unsqueeze", net.reshape(weights, 1, groups, taps * taps, size, size), net.ints(2))
        y = net.op("Pad", x, net.ints(0, 0, 3, 3, 0, 0, 3, 3), net.scalar(0))
        y = net.op("Gather", y, net.constant(places.T), axis=2)
        y = net.turn(net.op("Gather", y, net.constant(places.T), axis=4), 0, 1, 2, 4, 3, 5)
        y = net.reshape(y, 1, groups, width // groups, taps * taps, size, size)
        y = net.op("ReduceSum", net.op("Mul", y, weights), net.ints(3), keepdims=0)
        y = net.relu(net.batch_norm(net.reshape(y, 1, width, size, size), width))
        x = net.relu(net.op("Add", net.conv(y, width, width), x))
    return net, net.op("GlobalAveragePool", x)


def dynamic_conv():
    """Kernels mixed by attention over four: a Conv whose weights the graph computes."""
    net = Net([1, 3, 96, 96])
    x, ins = net.relu(net.conv("x", 3, 32, 3, 2)), 32
    for outs in (64, 64, 96):
        stride = 1 if ins == outs else 2
        y = net.op("Flatten", net.op("GlobalAveragePool", x))
        y = net.op("Softmax", net.op("Div", net.gemm(net.relu(net.gemm(y, ins, 16)), 16, 4), net.scalar(30)), axis=1)
        weights = net.op("MatMul", y, net.normal((4, outs * ins * 9), (1 / ins) ** 0.5 / 3))
        bias = net.reshape(net.op("MatMul", y, net.normal((4, outs), 0.1)), -1)
        x = net.op("Conv", x, net.reshape(weights, outs, ins, 3, 3), bias, kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4)
        x, ins = net.relu(net.batch_norm(x, outs)), outs
    return net, net.op("GlobalAveragePool", x)


def mobilevit():
    """Pixels of the same place in 2 x 2 patches attend to each other: unfolded and folded by Reshape and Transpose."""
    net, width, size = Net([1, 3, 128, 128]), 96, 16
    x, ins = net.silu(net.conv("x", 3, 16, 3, 2)), 16
    for outs in (32, 64):
        y = net.silu(net.conv(net.silu(net.conv(x, ins, 4 * ins)), 4 * ins, 4 * ins, 3, 2, group=4 * ins))
        x, ins = net.conv(y, 4 * ins, outs), outs
    y = net.conv_of(net.silu(net.conv(x, ins, ins, 3)), ins, width, (1, 1), bias=False)
    y = net.turn(net.reshape(y, width * size // 2, 2, size // 2, 2), 0, 2, 1, 3)
    y = net.turn(net.reshape(y, 1, width, size * size // 4, 4), 0, 3, 2, 1)
    y = net.reshape(y, 4, size * size // 4, width)
    for _ in range(3):
        z = net.linear(net.layer_norm(y, width), width, 3 * width)
        z = net.turn(net.reshape(z, 4, size * size // 4, 3, 4, width // 4), 2, 0, 3, 1, 4)
        query, key, value = (net.op("Gather", z, net.constant(numpy.int64(i)), axis=0) for i in range(3))
        scores = net.op("Mul", net.op("MatMul", query, net.turn(key, 0, 1, 3, 2)), net.scalar((width // 4) ** -0.5))
        z = net.turn(net.op("MatMul", net.op("Softmax", scores, axis=-1), value), 0, 2, 1, 3)
        y = net.op("Add", net.linear(net.reshape(z, 4, size * size // 4, width), width, width), y)
        z = net.silu(net.linear(net.layer_norm(y, width), width, 2 * width))
        y = net.op("Add", net.linear(z, 2 * width, width), y)
    y = net.turn(net.reshape(net.layer_norm(y, width), 1, 4, size * size // 4, width), 0, 3, 2, 1)
    y = net.turn(net.reshape(y, width * size // 2, size // 2, 2, 2), 0, 2, 1, 3)
    y = net.silu(net.conv(net.reshape(y, 1, width, size, size), width, ins))
    return net, net.silu(net.conv(net.concat(x, y), 2 * ins, width, 3))


def repvgg():
    """As it is trained: sums of 3 x 3, 1 x 1 and nothing, each with its batch norm."""
    net = Net([1, 3, 128, 128])
    x, ins = "x", 3
    for outs, stride in ((32, 2), (48, 2), (48, 1), (48, 1), (96, 2), (96, 1), (96, 1), (96, 1)):
        y = net.batch_norm(net.conv_of(x, ins, outs, (3, 3), [stride] * 2, bias=False), outs)
        y = net.op("Add", y, net.batch_norm(net.conv_of(x, ins, outs, (1, 1), [stride] * 2, bias=False), outs))
        if ins == outs and stride == 1:
            y = net.op("Add", y, net.batch_norm(x, outs))
        x, ins = net.relu(y), outs
    return net, net.op("GlobalAveragePool", x)


def hrnet_pose():
    """Three resolutions side by side that are added to each other, and joints as the mean place of a softmax."""
    net, widths, joints, size = Net([1, 3, 128, 96]), (32, 64, 128), 17, (32, 24)
    x = net.relu(net.conv(net.relu(net.conv("x", 3, 32, 3, 2)), 32, 32, 3, 2))
    levels = [x, net.relu(net.conv(x, 32, 64, 3, 2))]
    levels.append(net.relu(net.conv(levels[1], 64, 128, 3, 2)))
    for _ in range(2):
        levels = [net.relu(net.op("Add", x, net.conv(net.relu(net.conv(x, width, width, 3)), width, width, 3))) for x, width in zip(levels, widths)]
        fused = []
        for i, outs in enumerate(widths):
            total = None
            for j, (y, ins) in enumerate(zip(levels, widths)):
                if j > i:
                    y = net.conv(y, ins, outs)
                    scales = net.constant(numpy.array([1, 1, 2 ** (j - i), 2 ** (j - i)], numpy.float32))
                    y = net.op("Resize", y, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
                for step in range(i - j):
                    last = step == i - j - 1
                    y = net.conv(y, ins, outs if last else ins, 3, 2)
                    y = y if last else net.relu(y)
                total = y if total is None else net.op("Add", total, y)
            fused.append(net.relu(total))
        levels = fused
    heat = net.reshape(net.conv(levels[0], 32, joints), 1, joints, -1)
    heat = net.reshape(net.op("Softmax", heat, axis=2), 1, joints, *size)
    columns, rows = (net.op("ReduceSum", heat, net.ints(axis), keepdims=0) for axis in (2, 3))
    places = [net.op("ReduceSum", net.op("Mul", part, net.constant(numpy.arange(count, dtype=numpy.float32))), net.ints(2), keepdims=1)
              for part, count in ((columns, size[1]), (rows, size[0]))]
    return net, net.concat(*places, axis=2)


def video():
    """R(2+1)D and a mix of cubes: convolutions over height and width, then over time."""
    net = Net([1, 3, 8, 56, 56])
    x = net.relu(net.conv_of("x", 3, 45, (1, 7, 7), (1, 2, 2)))
    x, ins = net.relu(net.conv_of(x, 45, 64, (3, 1, 1))), 64
    for outs, stride in ((64, 1), (96, 2)):
        y = net.relu(net.batch_norm(net.conv_of(x, ins, 96, (1, 3, 3), (1, stride, stride), bias=False), 96))
        y = net.relu(net.batch_norm(net.conv_of(y, 96, outs, (3, 1, 1), (stride, 1, 1), bias=False), outs))
        y = net.batch_norm(net.conv_of(y, outs, outs, (3, 3, 3), bias=False), outs)
        x = net.relu(net.op("Add", y, x if stride == 1 else net.conv_of(x, ins, outs, (1, 1, 1), (2, 2, 2))))
        ins = outs
    y = net.op("MaxPool", x, kernel_shape=[3, 3, 3], strides=[1, 1, 1], pads=[1] * 6)
    x = net.concat(net.relu(net.conv_of(y, ins, 32, (1, 1, 1))), net.relu(net.conv_of(x, ins, 64, (3, 3, 3), group=2)))
    return net, net.gemm(net.op("Flatten", net.op("GlobalAveragePool", x)), 96, 100)


def keras_mobilenet():
    """An image with channels last, as tf2onnx leaves it: Transpose, SAME padding on one side, ReLU6 by Min and Max, Squeeze."""
    net = Net(["batch", 160, 160, 3])

    def limited(x):
        return net.op("Min", net.relu(x), net.scalar(6))
    x, ins = net.turn("x", 0, 3, 1, 2), 32
    x = limited(net.batch_norm(net.conv_of(x, 3, 32, (3, 3), (2, 2), [0, 0, 1, 1], bias=False), 32))
    for outs, stride in ((24, 2), (24, 1), (48, 2), (48, 1), (80, 2), (80, 1)):
        y = limited(net.batch_norm(net.conv_of(x, ins, 6 * ins, (1, 1), bias=False), 6 * ins))
        pads = [0, 0, 1, 1] if stride == 2 else [1] * 4
        y = limited(net.batch_norm(net.conv_of(y, 6 * ins, 6 * ins, (3, 3), (stride, stride), pads, 6 * ins, bias=False), 6 * ins))
        y = net.batch_norm(net.conv_of(y, 6 * ins, outs, (1, 1), bias=False), outs)
        x, ins = net.op("Add", x, y) if ins == outs else y, outs
    x = net.op("Squeeze", net.op("GlobalAveragePool", x), net.ints(2, 3))
    return net, net.op("Softmax", net.linear(x, ins, 100), axis=-1)


def paddle_lcnet():
    """Paddle's depthwise blocks: h-swish written out by Clip, gates by HardSigmoid of its own slope, 5 x 5 at the end."""
    net = Net(["batch", 3, 224, 224])

    def hard_swish(x):
        return net.op("Div", net.op("Mul", x, net.op("Clip", net.op("Add", x, net.scalar(3)), net.scalar(0), net.scalar(6))), net.scalar(6))

    def conv(x, ins, outs, kernel, stride=1, group=1):
        y = net.batch_norm(net.conv_of(x, ins, outs, (kernel, kernel), (stride, stride), group=group, bias=False), outs)
        return hard_swish(y)
    x, ins = conv("x", 3, 16, 3, 2), 16
    for outs, kernel, stride, gated in ((32, 3, 1, 0), (64, 3, 2, 0), (64, 3, 1, 0), (128, 3, 2, 0), (128, 3, 1, 0), (256, 5, 2, 0), (256, 5, 1, 1)):
        x = conv(x, ins, ins, kernel, stride, ins)
        if gated:
            y = net.relu(net.conv(net.op("GlobalAveragePool", x), ins, ins // 4))
            x = net.op("Mul", x, net.op("HardSigmoid", net.conv(y, ins // 4, ins), alpha=0.2, beta=0.5))
        x, ins = conv(x, ins, outs, 1), outs
    x = hard_swish(net.conv_of(net.op("GlobalAveragePool", x), ins, 640, (1, 1), bias=False))
    return net, net.op("Softmax", net.linear(net.op("Flatten", x), 640, 100), axis=1)


FAMILIES = (bifpn, detr, dynamic_conv, gated_attention, hrnet_pose, inception, involution, keras_mobilenet, mlp_mixer, mobilevit, paddle_lcnet,
            repvgg, shufflenet, video, yolo_focus)
