# SPDX-License-Identifier: Apache-2.0
"""Networks over tokens: encoders and decoders of text, and what state-space models and mixtures of experts do otherwise."""
import numpy
from networks.net import INT64, LOWEST, Net


def padding_bias(net, mask):
    """0 where a token counts, the lowest number where it does not, for scores of [batch, heads, queries, keys]."""
    wide = net.op("Cast", net.op("Unsqueeze", net.op("Unsqueeze", mask, net.ints(1)), net.ints(2)), to=1)
    return net.op("Mul", net.op("Sub", net.scalar(1), wide), net.scalar(LOWEST))


def buckets(net, ids):
    """T5's buckets of distances between tokens."""
    steps = net.op("Range", net.constant(numpy.int64(0)), net.size(ids, 1), net.constant(numpy.int64(1)))
    away = net.op("Sub", net.op("Unsqueeze", steps, net.ints(0)), net.op("Unsqueeze", steps, net.ints(1)))
    side = net.op("Mul", net.op("Cast", net.op("Greater", away, net.ints(0)), to=INT64), net.ints(16))
    far = net.op("Abs", away)
    ratio = net.op("Log", net.op("Div", net.op("Cast", far, to=1), net.scalar(8)))
    large = net.op("Mul", net.op("Div", ratio, net.scalar(numpy.log(16))), net.scalar(8))
    large = net.op("Min", net.op("Add", net.op("Cast", large, to=INT64), net.ints(8)), net.ints(15))
    return net.op("Add", side, net.op("Where", net.op("Less", far, net.ints(8)), far, large))


def t5_encoder():
    net = Net()
    ids, mask = (net.input(name, ["batch", 128], INT64) for name in ("input_ids", "attention_mask"))
    batch = net.size(ids, 0)
    x = net.op("Gather", net.normal((2000, 384), 1), ids)
    bias = net.turn(net.op("Gather", net.normal((32, 6), 1), buckets(net, ids)), 2, 0, 1)
    bias = net.op("Add", net.op("Unsqueeze", bias, net.ints(0)), padding_bias(net, mask))
    for _ in range(3):
        y = net.rms_norm(x, 384)
        query, key, value = (net.heads_of(net.matmul(y, 384, 384), batch, 6, 64) for _ in range(3))
        x = net.op("Add", x, net.matmul(net.attend(query, key, value, batch, 384, bias), 384, 384))
        y = net.rms_norm(x, 384)
        gated = net.op("Mul", net.gelu_tanh(net.matmul(y, 384, 1024)), net.matmul(y, 384, 1024))
        x = net.op("Add", x, net.matmul(gated, 1024, 384))
    return net, net.rms_norm(x, 384)


def gpt2_decoder():
    """One token after 255 others, whose keys and values come in and go out."""
    net, width, heads = Net(), 512, 8
    ids = net.input("input_ids", ["batch", 1], INT64)
    past = [[net.input(f"past_{kind}_{i}", ["batch", heads, 255, 64]) for kind in ("key", "value")] for i in range(3)]
    before = net.size(past[0][0], 2)
    total = net.op("Add", before, net.size(ids, 1))
    positions = net.op("Unsqueeze", net.op("Range", before, total, net.constant(numpy.int64(1))), net.ints(0))
    x = net.op("Add", net.op("Gather", net.normal((5000, width), 1), ids), net.op("Gather", net.normal((1024, width), 0.1), positions))
    seen = net.constant(numpy.tril(numpy.ones((1, 1, 1024, 1024), bool)))
    batch, presents = net.size(ids, 0), []

    def product(x, ins, outs):
        flat = net.op("Gemm", net.view(x, -1, ins), net.normal((ins, outs), ins ** -0.5), net.normal(outs, 0.1))
        return net.view(flat, batch, net.size(x, 1), outs)
    for key_before, value_before in past:
        query, key, value = net.split(product(net.layer_norm(x, width), width, 3 * width), *[width] * 3, axis=2)
        query, key, value = (net.heads_of(part, batch, heads, 64) for part in (query, key, value))
        key, value = net.concat(key_before, key, axis=2), net.concat(value_before, value, axis=2)
        presents += [key, value]
        scores = net.op("Div", net.op("MatMul", query, net.turn(key, 0, 1, 3, 2)), net.scalar(8))
        first, last = net.op("Unsqueeze", before, net.ints(0)), net.op("Unsqueeze", total, net.ints(0))
        here = net.op("Slice", net.op("Slice", seen, first, last, net.ints(2), net.ints(1)), net.ints(0), last, net.ints(3), net.ints(1))
        scores = net.op("Softmax", net.op("Where", here, scores, net.scalar(LOWEST)), axis=-1)
        context = net.view(net.turn(net.op("MatMul", scores, value), 0, 2, 1, 3), batch, net.size(ids, 1), width)
        x = net.op("Add", product(context, width, width), x)
        x = net.op("Add", x, product(net.gelu_tanh(product(net.layer_norm(x, width), width, 4 * width)), 4 * width, width))
    return net, net.matmul(net.layer_norm(x, width), width, 5000), *presents


def llama():
    """Rotary positions, two heads of keys for eight of queries, gates by SiLU."""
    net, width, heads, shared = Net(), 512, 8, 2
    ids, mask, places = (net.input(name, ["batch", 64], INT64) for name in ("input_ids", "attention_mask", "position_ids"))
    batch, length = net.size(ids, 0), net.size(ids, 1)
    x = net.op("Gather", net.normal((2000, width), 1), ids)
    rates = net.constant((10000.0 ** (-numpy.arange(32) / 32)).astype(numpy.float32).reshape(1, 32, 1))
    rates = net.op("Expand", rates, net.joined(batch, 1, 1))
    angles = net.turn(net.op("MatMul", rates, net.op("Cast", net.op("Unsqueeze", places, net.ints(1)), to=1)), 0, 2, 1)
    angles = net.concat(angles, angles, axis=-1)
    cosines, sines = (net.op("Unsqueeze", net.op(kind, angles), net.ints(1)) for kind in ("Cos", "Sin"))
    later = net.op("Trilu", net.op("Expand", net.scalar(LOWEST), net.joined(length, length)), net.constant(numpy.int64(1)), upper=1)
    later = net.op("Expand", net.op("Unsqueeze", later, net.ints(0, 1)), net.joined(batch, 1, length, length))
    absent = net.op("Equal", net.op("Unsqueeze", mask, net.ints(1, 2)), net.constant(numpy.int64(0)))
    bias = net.op("Where", absent, net.scalar(LOWEST), later)

    def turned(x):
        rotated = net.concat(net.op("Neg", net.cut(x, 32, 2 ** 62, 3)), net.cut(x, 0, 32, 3), axis=-1)
        return net.op("Add", net.op("Mul", x, cosines), net.op("Mul", rotated, sines))

    def repeated(x):
        wide = net.op("Expand", net.op("Unsqueeze", x, net.ints(2)), net.joined(batch, shared, heads // shared, length, 64))
        return net.view(wide, batch, heads, length, 64)
    for _ in range(3):
        y = net.rms_norm(x, width)
        query = turned(net.heads_of(net.matmul(y, width, width), batch, heads, 64))
        key = repeated(turned(net.heads_of(net.matmul(y, width, 64 * shared), batch, shared, 64)))
        value = repeated(net.heads_of(net.matmul(y, width, 64 * shared), batch, shared, 64))
        x = net.op("Add", x, net.matmul(net.attend(query, key, value, batch, width, bias, 8), width, width))
        y = net.rms_norm(x, width)
        gated = net.op("Mul", net.silu(net.matmul(y, width, 1376)), net.matmul(y, width, 1376))
        x = net.op("Add", x, net.matmul(gated, 1376, width))
    return net, net.matmul(net.rms_norm(x, width), width, 2000)


def clip_text():
    """A causal mask that is written down, GELU by a sigmoid, and the row of the largest token."""
    net, width = Net(), 384
    ids = net.input("input_ids", ["batch", 77], INT64)
    batch = net.size(ids, 0)
    x = net.op("Add", net.op("Gather", net.normal((2000, width), 1), ids), net.normal((1, 77, width), 0.1))
    bias = net.constant(numpy.triu(numpy.full((1, 1, 77, 77), LOWEST, numpy.float32), 1))
    for _ in range(4):
        y = net.layer_norm(x, width)
        query = net.op("Mul", net.linear(y, width, width), net.scalar(0.125))
        query, key, value = (net.heads_of(part, batch, 6, 64) for part in (query, net.linear(y, width, width), net.linear(y, width, width)))
        x = net.op("Add", x, net.linear(net.attend(query, key, value, batch, width, bias), width, width))
        y = net.linear(net.layer_norm(x, width), width, 4 * width)
        y = net.op("Mul", y, net.op("Sigmoid", net.op("Mul", y, net.scalar(1.702))))
        x = net.op("Add", x, net.linear(y, 4 * width, width))
    x = net.layer_norm(x, width)
    last = net.op("ArgMax", net.op("Cast", ids, to=6), axis=-1, keepdims=0)
    rows = net.op("Range", net.constant(numpy.int64(0)), batch, net.constant(numpy.int64(1)))
    places = net.concat(net.op("Unsqueeze", rows, net.ints(-1)), net.op("Unsqueeze", last, net.ints(-1)), axis=-1)
    y = net.matmul(net.op("GatherND", x, places), width, 256)
    length = net.op("ReduceL2", y, axes=[-1])
    return net, net.op("Div", y, net.op("Expand", net.op("Clip", length, net.scalar(1e-12)), net.op("Shape", y))), x


def deberta():
    """Attention to contents and to distances apart, joined by GatherElements."""
    net, width, heads, tokens = Net(), 384, 6, 128
    ids, mask = (net.input(name, ["batch", tokens], INT64) for name in ("input_ids", "attention_mask"))
    batch = net.size(ids, 0)
    both = net.op("Mul", net.op("Unsqueeze", mask, net.ints(1, 2)), net.op("Unsqueeze", mask, net.ints(1, 3)))
    hidden = net.op("Not", net.op("Cast", both, to=9))
    x = net.layer_norm_written(net.op("Gather", net.normal((2000, width), 1), ids), width)
    x = net.op("Mul", x, net.op("Cast", net.op("Unsqueeze", mask, net.ints(2)), to=1))
    steps = numpy.arange(tokens)
    away = net.constant(numpy.clip(steps[:, None] - steps[None, :] + tokens, 0, 2 * tokens - 1)[None])
    back = net.constant(numpy.clip(steps[None, :] - steps[:, None] + tokens, 0, 2 * tokens - 1)[None])
    table, rows = net.normal((2 * tokens, width), 1), net.op("Mul", batch, net.constant(numpy.int64(heads)))

    def flat(value, rows):
        return net.view(net.turn(net.view(value, batch if rows else 1, -1, heads, 64), 0, 2, 1, 3), -1, net.size(value, -2), 64)
    for _ in range(3):
        query, key, value = (flat(net.linear(x, width, width), True) for _ in range(3))
        row = net.op("Unsqueeze", table, net.ints(0))
        repeat = net.joined(batch, 1, 1)
        place_key, place_query = (net.op("Tile", flat(net.linear(row, width, width), False), repeat) for _ in range(2))
        scores = net.op("MatMul", query, net.op("Div", net.turn(key, 0, 2, 1), net.scalar(192 ** 0.5)))
        grid = net.joined(rows, tokens, tokens)
        one = net.op("GatherElements", net.op("MatMul", query, net.turn(place_key, 0, 2, 1)), net.op("Expand", away, grid), axis=-1)
        two = net.op("GatherElements", net.op("MatMul", key, net.turn(place_query, 0, 2, 1)), net.op("Expand", back, grid), axis=-1)
        places = net.op("Add", net.op("Div", one, net.scalar(192 ** 0.5)), net.op("Div", net.turn(two, 0, 2, 1), net.scalar(192 ** 0.5)))
        scores = net.view(net.op("Add", scores, places), batch, heads, tokens, tokens)
        scores = net.op("Softmax", net.op("Where", hidden, net.scalar(LOWEST), scores), axis=-1)
        scores = net.view(net.op("Where", hidden, net.scalar(0), scores), rows, tokens, tokens)
        context = net.turn(net.view(net.op("MatMul", scores, value), batch, heads, -1, 64), 0, 2, 1, 3)
        y = net.linear(net.view(context, batch, -1, width), width, width)
        x = net.layer_norm_written(net.op("Add", y, x), width)
        y = net.linear(net.gelu(net.linear(x, width, 4 * width)), 4 * width, width)
        x = net.layer_norm_written(net.op("Add", y, x), width)
    return net, x


def keras_encoder():
    """Keras's MultiHeadAttention and LayerNormalization as tf2onnx writes them: Einsum, and a norm in the form of a batch norm."""
    net, width, heads, inner = Net(["batch", 128, 256]), 256, 4, 64

    def norm(x):
        off = net.op("Sub", x, net.op("ReduceMean", x, axes=[-1]))
        variance = net.op("ReduceMean", net.op("Mul", off, off), axes=[-1])
        scale = net.op("Reciprocal", net.op("Sqrt", net.op("Add", variance, net.scalar(1e-3))))
        scale = net.op("Mul", scale, net.numbers(0.5, 1.5, width))
        shift = net.op("Sub", net.normal(width, 0.1), net.op("Mul", net.op("ReduceMean", x, axes=[-1]), scale))
        return net.op("Add", net.op("Mul", x, scale), shift)

    def part(x):
        y = net.op("Einsum", x, net.normal((width, heads, inner), width ** -0.5), equation="abc,cde->abde")
        return net.op("Add", y, net.normal((heads, inner), 0.1))
    x = "x"
    for _ in range(4):
        query, key, value = net.op("Mul", part(x), net.scalar(inner ** -0.5)), part(x), part(x)
        scores = net.op("Softmax", net.op("Einsum", key, query, equation="aecd,abcd->acbe"), axis=-1)
        context = net.op("Einsum", scores, value, equation="acbe,aecd->abcd")
        y = net.op("Einsum", context, net.normal((heads, inner, width), width ** -0.5), equation="abcd,cde->abe")
        x = norm(net.op("Add", x, net.op("Add", y, net.normal(width, 0.1))))
        y = net.linear(net.relu(net.linear(x, width, 1024)), 1024, width)
        x = norm(net.op("Add", x, y))
    return net, x


def mixture_of_experts():
    """Each token goes to two experts of four; an expert's tokens are found by NonZero and added where they came from."""
    net, width, experts, tokens = Net([1, 64, 256]), 256, 4, 64
    x = "x"
    for _ in range(2):
        x = net.op("Add", x, net.attention(net.layer_norm(x, width), width, 4, tokens))
        flat = net.reshape(net.layer_norm(x, width), -1, width)
        chances = net.op("Softmax", net.matmul(flat, width, experts), axis=1)
        best, chosen = net.ops("TopK", 2, chances, net.ints(2), axis=-1, largest=1, sorted=1)
        best = net.op("Div", best, net.op("ReduceSum", best, net.ints(-1), keepdims=1))
        which = net.op("OneHot", chosen, net.ints(experts), net.ints(0, 1), axis=-1)
        which = net.turn(which, 2, 1, 0)
        total = net.op("ConstantOfShape", net.op("Shape", flat))
        for expert in range(experts):
            mine = net.op("Gather", which, net.constant(numpy.int64(expert)), axis=0)
            places = net.op("NonZero", mine)
            rank, token = (net.op("Squeeze", part, net.ints(0)) for part in net.split(places, 1, 1, axis=0))
            y = net.op("Gather", flat, token, axis=0)
            y = net.matmul(net.op("Mul", net.silu(net.matmul(y, width, 512)), net.matmul(y, width, 512)), 512, width)
            pair = net.concat(net.op("Unsqueeze", token, net.ints(-1)), net.op("Unsqueeze", rank, net.ints(-1)), axis=-1)
            y = net.op("Mul", y, net.op("Unsqueeze", net.op("GatherND", best, pair), net.ints(-1)))
            rows = net.op("Expand", net.op("Unsqueeze", token, net.ints(1)), net.op("Shape", y))
            total = net.op("ScatterElements", total, rows, y, axis=0, reduction="add")
        x = net.op("Add", x, net.op("Reshape", total, net.op("Shape", x)))
    return net, x


def mamba():
    """A selective state space: a depthwise causal Conv and a Scan over the tokens."""
    net, width, inner, states, tokens = Net(["batch", 64, 256]), 256, 512, 16, 64
    x = "x"
    batch = net.size(x, 0)
    for layer in range(2):
        z, gate = net.split(net.matmul(net.rms_norm(x, width), width, 2 * inner), inner, inner)
        u = net.cut(net.conv(net.turn(z, 0, 2, 1), inner, inner, 4, group=inner, pad=3, rank=1), 0, tokens, 2)
        u = net.silu(net.turn(u, 0, 2, 1))
        step, enter, leave = net.split(net.matmul(u, inner, 16 + 2 * states), 16, states, states)
        step = net.op("Softplus", net.linear(step, 16, inner))
        decay = net.op("Neg", net.op("Exp", net.normal((inner, states), 0.5)))
        decay = net.op("Exp", net.op("Mul", net.op("Unsqueeze", step, net.ints(3)), decay))
        drive = net.op("Mul", net.op("Unsqueeze", net.op("Mul", step, u), net.ints(3)), net.op("Unsqueeze", enter, net.ints(2)))
        body = Net(prefix=f"scan{layer}_")
        state = body.input("state", ["batch", inner, states])
        kept, added = (body.input(name, ["batch", inner, states]) for name in ("kept", "added"))
        seen = body.input("seen", ["batch", states])
        after = body.op("Add", body.op("Mul", kept, state), added)
        y = body.op("Squeeze", body.op("MatMul", after, body.op("Unsqueeze", seen, body.ints(2))), body.ints(2))
        start = net.op("ConstantOfShape", net.joined(batch, inner, states))
        _, y = net.ops("Scan", 2, start, decay, drive, leave, body=body.graph("step", after, y), num_scan_inputs=3,
                       scan_input_axes=[1, 1, 1], scan_output_axes=[1])
        y = net.op("Mul", net.op("Add", y, net.op("Mul", u, net.numbers(0.5, 1.5, inner))), net.silu(gate))
        x = net.op("Add", x, net.matmul(y, inner, width))
    return net, x


FAMILIES = (clip_text, deberta, gpt2_decoder, keras_encoder, llama, mamba, mixture_of_experts, t5_encoder)
