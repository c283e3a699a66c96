# SPDX-License-Identifier: Apache-2.0
"""Networks over time: speech, sound, and lines of text in images."""
import numpy
from networks.net import Net


def recurrent(net, kind, x, ins, hidden, gates):
    """A layer of both directions as PyTorch's exporters write it: first states of zeros, both directions side by side after."""
    weights = net.numbers(-hidden ** -0.5, hidden ** -0.5, 2, gates * hidden, ins)
    again = net.numbers(-hidden ** -0.5, hidden ** -0.5, 2, gates * hidden, hidden)
    bias = net.normal((2, 2 * gates * hidden), 0.05)
    first = net.op("Expand", net.constant(numpy.zeros((2, 1, hidden), numpy.float32)), net.joined(2, net.size(x, 1), hidden))
    states = [first, first] if kind == "LSTM" else [first]
    attributes = {"linear_before_reset": 1} if kind == "GRU" else {}
    y = net.ops(kind, 1, x, weights, again, bias, "", *states, hidden_size=hidden, direction="bidirectional", **attributes)[0]
    return net.reshape(net.turn(y, 0, 2, 1, 3), 0, 0, -1)


def crnn():
    """Text in a line of pixels: convolutions, then LSTM over columns."""
    net = Net(["batch", 1, 32, 160])
    x = net.max_pool(net.relu(net.conv("x", 1, 64, 3)))
    x = net.max_pool(net.relu(net.conv(x, 64, 128, 3)))
    x = net.relu(net.batch_norm(net.conv(x, 128, 192, 3), 192))
    x = net.op("MaxPool", net.relu(net.conv(x, 192, 192, 3)), kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
    x = net.op("MaxPool", net.relu(net.batch_norm(net.conv(x, 192, 256, 3), 256)), kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
    x = net.relu(net.conv(x, 256, 256, 2, pad=0))
    x = net.turn(net.op("Squeeze", x, net.ints(2)), 2, 0, 1)
    for ins, outs in ((256, 128), (128, 97)):
        x = recurrent(net, "LSTM", x, ins, 128, 4)
        flat = net.gemm(net.reshape(x, -1, 256), 256, outs)
        x = net.view(flat, net.size(x, 0), net.size(x, 1), outs)
    return net, net.op("LogSoftmax", x, axis=2)


def highway_gru():
    """Convolutions of widths 1 to 8, highway layers and a GRU of both directions, as in Tacotron."""
    net = Net(["batch", 128, 96])
    banks = [net.relu(net.batch_norm(net.conv_of("x", 128, 64, (k,), pads=[(k - 1) // 2, k // 2], bias=False), 64)) for k in range(1, 9)]
    x = net.op("MaxPool", net.concat(*banks), kernel_shape=[2], strides=[1], pads=[1, 0])
    x = net.relu(net.batch_norm(net.conv(x, 512, 128, 3, rank=1), 128))
    x = net.turn(net.op("Add", net.batch_norm(net.conv(x, 128, 128, 3, rank=1), 128), "x"), 0, 2, 1)
    for _ in range(4):
        gate = net.op("Sigmoid", net.linear(x, 128, 128))
        y = net.op("Mul", net.relu(net.linear(x, 128, 128)), gate)
        x = net.op("Add", y, net.op("Mul", x, net.op("Sub", net.scalar(1), gate)))
    return net, recurrent(net, "GRU", net.turn(x, 1, 0, 2), 128, 128, 3)


def wavenet():
    """Causal convolutions of growing dilation by Pad, gates of tanh and sigmoid, sums of all layers."""
    net, total = Net([1, 1, 4000]), None
    x = net.conv("x", 1, 64, rank=1)
    for i in range(8):
        y = net.op("Pad", x, net.ints(0, 0, 2 ** i, 0, 0, 0), net.scalar(0), mode="constant")
        one, two = net.split(net.conv(y, 64, 128, 2, dilation=2 ** i, pad=0, rank=1), 64, 64, axis=1)
        y = net.op("Mul", net.op("Tanh", one), net.op("Sigmoid", two))
        kept = net.conv(y, 64, 64, rank=1)
        total = kept if total is None else net.op("Add", total, kept)
        x = net.op("Mul", net.op("Add", x, net.conv(y, 64, 64, rank=1)), net.scalar(0.5 ** 0.5))
    return net, net.conv(net.relu(net.conv(net.relu(total), 64, 64, rank=1)), 64, 256, rank=1)


def whisper_encoder():
    net, width, tokens = Net([1, 80, 400]), 384, 200
    x = net.gelu(net.conv(net.gelu(net.conv("x", 80, width, 3, rank=1)), width, width, 3, 2, rank=1))
    x = net.op("Add", net.turn(x, 0, 2, 1), net.normal((tokens, width), 0.1))
    for _ in range(3):
        y = net.layer_norm(x, width)
        query = net.op("Mul", net.linear(y, width, width), net.scalar(0.125))
        key, value = net.matmul(y, width, width), net.linear(y, width, width)
        query, key, value = (net.reshape(net.turn(net.reshape(part, 1, -1, 6, 64), 0, 2, 1, 3), 6, -1, 64) for part in (query, key, value))
        scores = net.op("Softmax", net.op("MatMul", query, net.turn(key, 0, 2, 1)), axis=-1)
        context = net.turn(net.reshape(net.op("MatMul", scores, value), 1, 6, tokens, 64), 0, 2, 1, 3)
        x = net.op("Add", x, net.linear(net.reshape(context, 1, tokens, width), width, width))
        x = net.op("Add", x, net.feed_forward(x, width))
    return net, net.layer_norm(x, width)


def conformer():
    """Two halves of a feed-forward layer around attention to relative positions and a gated depthwise Conv."""
    net, width, heads, inner, tokens = Net(["batch", 128, 80]), 256, 4, 64, 128
    x = net.linear("x", 80, width)
    batch = net.size("x", 0)
    places = net.normal((1, 2 * tokens - 1, width), 1)

    def half(x):
        y = net.silu(net.linear(net.layer_norm(x, width), width, 4 * width))
        return net.op("Add", x, net.op("Mul", net.linear(y, 4 * width, width), net.scalar(0.5)))
    for _ in range(2):
        x = half(x)
        y = net.layer_norm(x, width)
        query = net.view(net.linear(y, width, width), batch, -1, heads, inner)
        key, value = (net.heads_of(net.linear(y, width, width), batch, heads, inner) for _ in range(2))
        place = net.turn(net.reshape(net.matmul(places, width, width), 1, -1, heads, inner), 0, 2, 3, 1)
        one, two = (net.turn(net.op("Add", query, net.normal((heads, inner), 0.1)), 0, 2, 1, 3) for _ in range(2))
        far = net.op("MatMul", two, place)
        far = net.view(net.op("Pad", far, net.ints(0, 0, 0, 1, 0, 0, 0, 0), net.scalar(0)), batch, heads, -1, tokens)
        far = net.view(net.cut(far, 1, 2 ** 62, 2), batch, heads, tokens, 2 * tokens - 1)
        far = net.cut(far, 0, tokens, 3)
        scores = net.op("Add", net.op("MatMul", one, net.turn(key, 0, 1, 3, 2)), far)
        scores = net.op("Softmax", net.op("Div", scores, net.scalar(8)), axis=-1)
        context = net.view(net.turn(net.op("MatMul", scores, value), 0, 2, 1, 3), batch, -1, width)
        x = net.op("Add", x, net.linear(context, width, width))
        y = net.conv(net.turn(net.layer_norm(x, width), 0, 2, 1), width, 2 * width, rank=1)
        one, two = net.split(y, width, width, axis=1)
        y = net.conv(net.op("Mul", one, net.op("Sigmoid", two)), width, width, 31, group=width, rank=1)
        y = net.conv(net.silu(net.batch_norm(y, width)), width, width, rank=1)
        x = half(net.op("Add", x, net.turn(y, 0, 2, 1)))
        x = net.layer_norm(x, width)
    return net, x


def wav2vec2():
    """Strided convolutions over samples, a group norm of one channel each, and a positional Conv of 128 taps in 16 groups."""
    net, width = Net(["batch", 8000]), 384
    x = net.op("Unsqueeze", "x", net.ints(1))
    x = net.conv(x, 1, 256, 10, 5, pad=0, rank=1)
    x = net.gelu(net.group_norm(x, 256, 256, rank=1))
    for kernel in (3, 3, 3, 2):
        x = net.gelu(net.conv(x, 256, 256, kernel, 2, pad=0, rank=1))
    x = net.layer_norm(net.turn(x, 0, 2, 1), 256)
    x = net.linear(x, 256, width)
    y = net.conv(net.turn(x, 0, 2, 1), width, width, 128, group=16, pad=64, rank=1)
    y = net.gelu(net.cut(y, 0, -1, 2))
    x = net.layer_norm(net.op("Add", x, net.turn(y, 0, 2, 1)), width)
    batch = net.size("x", 0)
    for _ in range(2):
        query, key, value = (net.heads_of(net.linear(x, width, width), batch, 6, 64) for _ in range(3))
        x = net.layer_norm(net.op("Add", x, net.linear(net.attend(query, key, value, batch, width, scale=8), width, width)), width)
        x = net.layer_norm(net.op("Add", x, net.linear(net.gelu(net.linear(x, width, 1536)), 1536, width)), width)
    return net, x


def vocoder():
    """HiFi-GAN: transposed convolutions over time and sums of dilated residual blocks."""
    net = Net([1, 80, 24])
    x, ins = net.conv("x", 80, 256, 7, rank=1), 256
    for stride, kernel in ((8, 16), (8, 16), (2, 4)):
        outs = ins // 2
        x = net.conv_transpose(net.op("LeakyRelu", x, alpha=0.1), ins, outs, kernel, stride, (kernel - stride) // 2, rank=1)
        total = None
        for taps in (3, 7):
            y = x
            for dilation in (1, 3):
                z = net.conv(net.op("LeakyRelu", y, alpha=0.1), outs, outs, taps, dilation=dilation, rank=1)
                y = net.op("Add", net.conv(net.op("LeakyRelu", z, alpha=0.1), outs, outs, taps, rank=1), y)
            total = y if total is None else net.op("Add", total, y)
        x, ins = net.op("Div", total, net.scalar(2)), outs
    return net, net.op("Tanh", net.conv(net.op("LeakyRelu", x, alpha=0.01), ins, 1, 7, rank=1))


FAMILIES = (conformer, crnn, highway_gru, vocoder, wav2vec2, wavenet, whisper_encoder)
