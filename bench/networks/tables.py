# SPDX-License-Identifier: Apache-2.0
"""Networks over rows, points and graphs: recommenders, tabular models, clouds of points, message passing."""
import numpy
from networks.net import INT64, Net


def recommender():
    """DLRM: rows of many tables, the products of all pairs below the diagonal, two towers."""
    net, batch, width, count = Net(), 128, 64, 20
    dense, sparse = net.input("dense", [batch, 13]), net.input("sparse", [batch, count], INT64)
    x = dense
    for ins, outs in ((13, 512), (512, 256), (256, width)):
        x = net.relu(net.gemm(x, ins, outs))
    rows = [net.op("Gather", net.normal((1000, width), 1), net.op("Gather", sparse, net.constant(numpy.int64(i)), axis=1)) for i in range(count)]
    every = net.reshape(net.concat(x, *rows), -1, count + 1, width)
    pairs = net.op("MatMul", every, net.turn(every, 0, 2, 1))
    below = [i * (count + 1) + j for i in range(count + 1) for j in range(i)]
    pairs = net.op("Gather", net.op("Flatten", pairs, axis=1), net.ints(*below), axis=1)
    y = net.concat(x, pairs)
    for ins, outs in ((width + len(below), 512), (512, 256)):
        y = net.relu(net.gemm(y, ins, outs))
    return net, net.op("Sigmoid", net.gemm(y, 256, 1))


def tabular_autoencoder():
    """Norms before and between linear layers, SELU and ELU, the error of each row."""
    net = Net([256, 96])
    x, ins = net.batch_norm("x", 96), 96
    for outs, kind in ((256, "Selu"), (128, "Elu"), (32, "Selu"), (128, "Elu"), (256, "Softplus")):
        x, ins = net.op(kind, net.batch_norm(net.gemm(x, ins, outs), outs)), outs
    x = net.gemm(x, ins, 96)
    off = net.op("Sub", x, "x")
    return net, x, net.op("ReduceMean", net.op("Mul", off, off), axes=[1], keepdims=0)


def feature_transformer():
    """FT-Transformer: each column a token by its own weights, ReGLU, the first token's answer."""
    net, columns, width, batch = Net([32, 24]), 24, 96, 32
    x = net.op("Mul", net.op("Unsqueeze", "x", net.ints(-1)), net.normal((1, columns, width), 1))
    x = net.op("Add", x, net.normal((1, columns, width), 0.1))
    first = net.op("Expand", net.normal((1, 1, width), 1), net.joined(net.size("x", 0), 1, width))
    x = net.concat(first, x)
    for _ in range(3):
        x = net.op("Add", x, net.attention(net.layer_norm(x, width), width, 8, columns + 1, batch))
        one, two = net.split(net.linear(net.layer_norm(x, width), width, 256), 128, 128)
        x = net.op("Add", x, net.linear(net.op("Mul", one, net.relu(two)), 128, width))
    first = net.op("Gather", x, net.constant(numpy.int64(0)), axis=1)
    return net, net.gemm(net.relu(net.layer_norm(first, width)), width, 2)


def graph_attention():
    """Messages along edges: gathered, weighed by a softmax over what arrives at each node, added up by scattering."""
    net, nodes, edges, heads, inner = Net(), 400, 2400, 4, 32
    x, ends = net.input("x", [nodes, 64]), net.input("edge_index", [2, edges], INT64)
    source, target = (net.op("Gather", ends, net.constant(numpy.int64(i)), axis=0) for i in range(2))
    width = 64
    for _ in range(2):
        y = net.reshape(net.matmul(x, width, heads * inner), -1, heads, inner)
        scores = [net.op("ReduceSum", net.op("Mul", y, net.normal((1, heads, inner), 0.2)), net.ints(-1), keepdims=0) for _ in range(2)]
        score = net.op("Add", net.op("Gather", scores[0], source), net.op("Gather", scores[1], target))
        score = net.op("LeakyRelu", score, alpha=0.2)
        places = net.op("Expand", net.op("Unsqueeze", target, net.ints(-1)), net.op("Shape", score))
        lowest = net.constant(numpy.full((nodes, heads), -1e30, numpy.float32))
        most = net.op("ScatterElements", lowest, places, score, axis=0, reduction="max")
        share = net.op("Exp", net.op("Sub", score, net.op("Gather", most, target)))
        zeros = net.constant(numpy.zeros((nodes, heads), numpy.float32))
        total = net.op("ScatterElements", zeros, places, share, axis=0, reduction="add")
        share = net.op("Div", share, net.op("Add", net.op("Gather", total, target), net.scalar(1e-16)))
        message = net.op("Mul", net.op("Gather", y, source), net.op("Unsqueeze", share, net.ints(-1)))
        zeros = net.constant(numpy.zeros((nodes, heads, inner), numpy.float32))
        places = net.op("Expand", net.reshape(target, -1, 1, 1), net.op("Shape", message))
        x = net.op("ScatterElements", zeros, places, message, axis=0, reduction="add")
        x, width = net.op("Elu", net.op("Add", net.reshape(x, nodes, heads * inner), net.normal(heads * inner, 0.1))), heads * inner
    return net, net.op("LogSoftmax", net.linear(x, width, 7), axis=1)


def message_passing():
    """Means over neighbours by ScatterND, gates of edges, a pool of the whole graph."""
    net, nodes, edges, width = Net(), 300, 1500, 96
    x, ends, features = net.input("x", [nodes, 32]), net.input("edge_index", [2, edges], INT64), net.input("edge_attr", [edges, 16])
    source, target = (net.op("Squeeze", part, net.ints(0)) for part in net.split(ends, 1, 1, axis=0))
    x = net.relu(net.linear(x, 32, width))
    places = net.op("Unsqueeze", target, net.ints(-1))
    ones = net.constant(numpy.ones(edges, numpy.float32))
    count = net.op("ScatterND", net.constant(numpy.zeros(nodes, numpy.float32)), places, ones, reduction="add")
    count = net.op("Unsqueeze", net.op("Clip", count, net.scalar(1)), net.ints(-1))
    for _ in range(3):
        both = net.concat(net.op("Gather", x, source), net.op("Gather", x, target), features)
        gate = net.op("Sigmoid", net.linear(both, 2 * width + 16, width))
        message = net.op("Mul", gate, net.op("Softplus", net.linear(both, 2 * width + 16, width)))
        zeros = net.constant(numpy.zeros((nodes, width), numpy.float32))
        mean = net.op("Div", net.op("ScatterND", zeros, places, message, reduction="add"), count)
        x = net.relu(net.op("Add", net.batch_norm(mean, width), x))
    return net, net.linear(net.op("ReduceMean", x, axes=[0], keepdims=1), width, 12)


def point_cloud():
    """PointNet: Conv1D of one tap, the largest over all points, and products by matrices that the points give."""
    net, points = Net(["batch", 3, 1024]), 1024
    batch = net.size("x", 0)

    def layer(x, ins, outs):
        return net.relu(net.batch_norm(net.conv(x, ins, outs, rank=1), outs))

    def turned(x, width):
        y = layer(layer(layer(x, width, 64), 64, 128), 128, 512)
        y = net.view(net.op("ReduceMax", y, axes=[2], keepdims=1), -1, 512)
        for ins, outs in ((512, 256), (256, 128)):
            y = net.relu(net.batch_norm(net.gemm(y, ins, outs), outs))
        eye = net.constant(numpy.eye(width, dtype=numpy.float32).reshape(1, -1))
        y = net.op("Add", net.gemm(y, 128, width * width), net.op("Tile", eye, net.joined(batch, 1)))
        y = net.op("MatMul", net.turn(x, 0, 2, 1), net.view(y, -1, width, width))
        return net.turn(y, 0, 2, 1)
    x = turned(layer(turned("x", 3), 3, 64), 64)
    local = x
    x = net.op("ReduceMax", net.batch_norm(net.conv(layer(x, 64, 128), 128, 512, rank=1), 512), axes=[2], keepdims=1)
    every = net.op("Expand", x, net.joined(batch, 512, points))
    return net, net.conv(layer(layer(net.concat(every, local), 576, 256), 256, 128), 128, 13, rank=1)


def edge_conv():
    """DGCNN: the nearest points by distances and TopK, differences to them, the largest."""
    net, points, nearest, ins = Net([1, 3, 256]), 256, 16, 3
    x, kept = "x", []
    for outs in (32, 64):
        inner = net.op("Mul", net.op("MatMul", net.turn(x, 0, 2, 1), x), net.scalar(-2))
        square = net.op("ReduceSum", net.op("Pow", x, net.scalar(2)), net.ints(1), keepdims=1)
        away = net.op("Sub", net.op("Sub", net.op("Neg", square), inner), net.turn(square, 0, 2, 1))
        _, places = net.ops("TopK", 2, away, net.ints(nearest), axis=-1, largest=1, sorted=1)
        rows = net.reshape(net.turn(x, 0, 2, 1), points, ins)
        there = net.reshape(net.op("Gather", rows, net.reshape(places, -1), axis=0), 1, points, nearest, ins)
        here = net.op("Expand", net.reshape(rows, 1, points, 1, ins), net.ints(1, points, nearest, ins))
        y = net.turn(net.concat(net.op("Sub", there, here), here, axis=3), 0, 3, 1, 2)
        y = net.op("LeakyRelu", net.batch_norm(net.conv_of(y, 2 * ins, outs, (1, 1), bias=False), outs), alpha=0.2)
        x, ins = net.op("ReduceMax", y, axes=[-1], keepdims=0), outs
        kept.append(x)
    y = net.op("LeakyRelu", net.conv(net.concat(*kept), 96, 256, rank=1), alpha=0.2)
    most, mean = net.op("GlobalMaxPool", y), net.op("GlobalAveragePool", y)
    return net, net.gemm(net.op("Flatten", net.concat(most, mean)), 512, 40)


def pillars():
    """Points in pillars: a linear layer and the largest of each, written into an image by ScatterND, then convolutions."""
    net, count, size = Net([500, 20, 9]), 500, 64
    x = net.relu(net.batch_norm(net.turn(net.matmul("x", 9, 64), 0, 2, 1), 64))
    x = net.op("ReduceMax", x, axes=[2], keepdims=0)
    places = net.random.choice(size * size, count, replace=False)
    canvas = net.constant(numpy.zeros((size * size, 64), numpy.float32))
    x = net.op("ScatterND", canvas, net.constant(places.astype(numpy.int64)[:, None]), x)
    x = net.reshape(net.turn(x, 1, 0), 1, 64, size, size)
    x = one = net.relu(net.conv(net.relu(net.conv(x, 64, 64, 3, 2)), 64, 64, 3))
    x = net.relu(net.conv(net.relu(net.conv(x, 64, 128, 3, 2)), 128, 128, 3))
    x = net.concat(net.relu(net.conv_transpose(one, 64, 64, 1, 1, 0)), net.relu(net.conv_transpose(x, 128, 64, 2, 2, 0)))
    scores, boxes = net.conv(x, 128, 2), net.conv(x, 128, 14)
    return net, net.reshape(net.turn(scores, 0, 2, 3, 1), 1, -1, 1), net.reshape(net.turn(boxes, 0, 2, 3, 1), 1, -1, 7)


FAMILIES = (edge_conv, feature_transformer, graph_attention, message_passing, pillars, point_cloud, recommender, tabular_autoencoder)
