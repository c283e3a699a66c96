# SPDX-License-Identifier: Apache-2.0
"""Makers of products of matrices, attention, and normalization by rows."""
import numpy as np

from .planes import spend
from .sketch import Impossible


def matmul(s, x):
    """A product with a constant matrix, its bias perhaps behind it."""
    *lead, width = s.shape(x)
    if x in s.open_planes:
        raise Impossible("open planes")
    out = width if s.chance(0.4) else s.size(24)
    spend(s, int(np.prod(lead)) * width * out)
    shape = (width, out)
    if len(lead) > 1 and s.chance(0.2):  # a matrix for each batch, or a batch of one
        shape = (1 if s.open_batch or s.chance(0.3) else lead[0], *[1] * (len(lead) - 2), *shape)
    made = s.node("MatMul", [x, s.weights(shape, width)], (*lead, out))
    if s.chance(0.5):
        made = s.node("Add", [made, s.numbers((out,), 0.5)][::s.choose(1, -1)], (*lead, out))
    return s.finish(made)


def matmul_left(s, x):
    """A constant matrix from the left."""
    if s.rank(x) < 3 or x in s.open_planes:
        raise Impossible("rank")
    *lead, rows, width = s.shape(x)
    out = s.size(12)
    spend(s, int(np.prod(lead)) * width * out * rows)
    return s.finish(s.node("MatMul", [s.weights((out, rows), rows), x], (*lead, out, width)))


def gemm(s, x):
    if s.rank(x) != 2 or x in s.open_planes:
        raise Impossible("rank")
    attributes = {}
    batch, width = s.shape(x)
    if s.chance(0.1) and not s.open_batch:
        attributes["transA"] = 1
        batch, width = width, batch
    out = width if s.chance(0.3) else s.size(33)
    spend(s, batch * width * out)
    transposed = s.chance(0.6)
    if transposed:
        attributes["transB"] = 1
    if s.chance(0.2):
        attributes["alpha"] = float(s.choose(0.5, 2.0, -1.0, 0.3))
    if s.chance(0.2):
        attributes["beta"] = float(s.choose(0.5, 2.0, -1.0, 0.3))
    inputs = [x, s.weights((out, width) if transposed else (width, out), width)]
    if s.chance(0.7) or s.opset < 11:
        shapes = [(out,), (out,), (out,), (1, out), (1,), (), (batch, out), (batch, 1)]
        shape = s.choose(*shapes[:6 if s.open_batch else 8])
        inputs.append(s.numbers(shape, 0.5))
    return s.finish(s.node("Gemm", inputs, (batch, out), **attributes))


def einsum(s, x):
    """x and a constant, or x and another value of its shape; some axes shared, some summed."""
    if s.opset < 12 or x in s.open_planes:
        raise Impossible("version")
    own = "abcd"[:s.rank(x)]
    shape = dict(zip(own, s.shape(x)))
    inner = [c for c in own[1:] if s.chance(0.4)] or [own[-1]]
    if s.chance(0.3):
        other = "".join(c if c in inner or s.chance(0.5) else c.upper() for c in own[1:])
        other = (own[0] if s.open_batch or s.chance(0.7) else "A") + other
        shape.update((c, shape[c.lower()]) for c in other)
        values = [v for v in s.values if s.shape(v) == s.shape(x) and v not in s.open_planes]
        y = s.choose(*values)
    else:
        shared = [c for c in own[1:] if c not in inner and s.chance(0.3)]
        other = "".join(s.random.permutation(list("xy"[:s.choose(0, 1, 1, 2)]) + inner + shared))
        shape.update((c, s.size(9)) for c in "xy" if c in other)
        y = s.weights([shape[c] for c in other], int(np.prod([shape[c] for c in inner])))
    left = [c for c in dict.fromkeys(own + other) if c not in inner]
    spend(s, int(np.prod([shape[c] for c in dict.fromkeys(own + other)])))
    first = left[:1] if s.open_batch else []
    out = "".join(first + list(s.random.permutation(left[len(first):])))
    if not 2 <= len(out) <= 4:
        raise Impossible("rank")
    inputs, terms = ([x, y], [own, other]) if s.chance(0.7) else ([y, x], [other, own])
    return s.finish(s.node("Einsum", inputs, tuple(shape[c] for c in out), equation=",".join(terms) + "->" + out))


def product_of_activations(s, x):
    """x times the transpose of x or of another value of its shape, or the other way round."""
    if s.rank(x) < 2 or x in s.open_planes or (s.open_batch and s.rank(x) < 3):
        raise Impossible("rank")
    *lead, rows, width = s.shape(x)
    spend(s, int(np.prod(lead)) * rows * rows * width)
    y = s.choose(*(v for v in s.values if s.shape(v) == s.shape(x) and v not in s.open_planes))
    order = list(range(s.rank(x)))
    order[-2:] = order[:-3:-1]
    turned = s.node("Transpose", [y], (*lead, width, rows), perm=order)
    if s.chance(0.5):
        return s.finish(s.node("MatMul", [x, turned], (*lead, rows, rows)))
    return s.finish(s.node("MatMul", [turned, x], (*lead, width, width)))


def projected(s, x, width, heads, perm):
    batch, tokens = s.shape(x)[:2]
    out = s.node("MatMul", [x, s.weights((s.shape(x)[2], width), s.shape(x)[2])], (batch, tokens, width))
    if s.chance(0.7):
        out = s.node("Add", [out, s.numbers((width,), 0.3)], (batch, tokens, width))
    target = s.axes([0 if s.open_batch else batch, tokens, heads, width // heads])
    out = s.node("Reshape", [out, target], (batch, tokens, heads, width // heads))
    shape = (batch, tokens, heads, width // heads)
    return s.node("Transpose", [out], [shape[i] for i in perm] and tuple(shape[i] for i in perm), perm=perm)


def masked(s, scores):
    """Scores with a mask of any form added or chosen."""
    batch, heads, queries, keys = s.shape(scores)
    shape = s.choose((1, 1, 1, keys), (1, 1, queries, keys), (queries, keys), (keys,), (1, heads, 1, keys))
    seen = s.random.random(shape) >= 0.2
    if shape == (queries, keys) and s.chance(0.6):
        seen = np.tril(np.ones(shape, bool), keys - queries)
    low = np.float32(s.choose(-30, -10000, np.finfo(np.float32).min))
    if s.chance(0.3):
        order = [scores, s.constant(low)]
        inputs = [s.constant(seen), *order] if s.chance(0.5) else [s.constant(~seen), *order[::-1]]
        return s.node("Where", inputs, s.shape(scores))
    mask = s.constant(np.where(seen, np.float32(0), low).astype(np.float32))
    return s.node("Add", [scores, mask][::s.choose(1, -1)], s.shape(scores))


def attention(s, x):
    if s.rank(x) != 3 or x in s.open_planes:
        raise Impossible("rank")
    batch, tokens, _ = s.shape(x)
    memory = x
    if s.chance(0.3):
        others = [v for v in s.values if s.rank(v) == 3 and v not in s.open_planes and s.shape(v)[0] == batch]
        memory = s.choose(*others) if others else x
    keys = s.shape(memory)[1]
    heads, head = s.choose(1, 2, 3), s.choose(2, 4, 5, 8)
    width = heads * head
    spend(s, batch * (tokens * (s.shape(x)[2] + 2 * keys) + 2 * keys * s.shape(memory)[2]) * width)
    q = projected(s, x, width, heads, [0, 2, 1, 3])
    k = projected(s, memory, width, heads, [0, 2, 3, 1])
    v = projected(s, memory, width, heads, [0, 2, 1, 3])
    factor = s.constant(np.float32(1 / np.sqrt(head)))
    if s.chance(0.3):
        q = s.node("Mul", [q, factor], s.shape(q))
    scores = s.node("MatMul", [q, k], (batch, heads, tokens, keys))
    if s.chance(0.6):
        scores = s.node(s.choose("Mul", "Div"), [scores, s.constant(np.float32(np.sqrt(head)))], s.shape(scores))
    if s.chance(0.6):
        scores = masked(s, scores)
    if s.chance(0.1):
        s.values.append(scores)
    attributes = {"axis": -1 if s.opset >= 13 and s.chance(0.7) else 3}
    scores = s.node("Softmax", [scores], s.shape(scores), **attributes)
    out = s.node("MatMul", [scores, v], (batch, heads, tokens, head))
    out = s.node("Transpose", [out], (batch, tokens, heads, head), perm=[0, 2, 1, 3])
    out = s.node("Reshape", [out, s.axes([0 if s.open_batch else batch, tokens, width])], (batch, tokens, width))
    return s.finish(out)


def layer_normalization(s, x):
    if s.opset < 17 or x in s.open_planes:
        raise Impossible("version")
    axis = s.rank(x) - s.choose(1, 1, min(2, s.rank(x) - 1))
    shape = s.shape(x)[axis:]
    inputs = [x, s.constant((1 + 0.3 * s.random.standard_normal(shape)).astype(np.float32))]
    if s.chance(0.7):
        inputs.append(s.numbers(shape, 0.3))
    return s.finish(s.node("LayerNormalization", inputs, s.shape(x), axis=axis - s.choose(0, s.rank(x)),
                           epsilon=float(s.choose(1e-5, 1e-3, 1e-2))))


def softmax(s, x):
    axis = int(s.choose(1, s.rank(x) - 1))
    if s.opset >= 13 and s.chance(0.3):
        axis -= s.rank(x)
    return s.finish(s.node("Softmax", [x], s.shape(x), axis=axis))


MAKERS = {"matmul": (matmul, 2), "matmul_left": (matmul_left, 0.6), "gemm": (gemm, 3), "einsum": (einsum, 1),
          "product_of_activations": (product_of_activations, 1), "attention": (attention, 0.7),
          "layer_normalization": (layer_normalization, 0.8), "softmax": (softmax, 0.6)}
