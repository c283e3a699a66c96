# SPDX-License-Identifier: Apache-2.0
"""com.microsoft's operators on numbers: fused products and normalizations, attention, blocks of few bits."""
import numpy as np

from ..sketch import Impossible
from .products import divisor, windows

MS = "com.microsoft"


def activation(s, x):
    array = s.need(x, "f")
    op = s.choose("Gelu", "BiasGelu", "FastGelu", "QuickGelu")
    if op in ("BiasGelu", "FastGelu") and array.ndim and (op == "BiasGelu" or s.chance(0.5)):
        return s.play(op, [x, s.numbers(array.shape[-1:])], domain=MS)
    if op == "BiasGelu":
        raise Impossible("scalar")
    return s.play(op, [x], domain=MS, **({"alpha": 1.2} if op == "QuickGelu" and s.chance(0.5) else {}))


def fused_matmul(s, x):
    array = s.need(x, "f", ranks=(2, 3, 4), small=600)
    a, b = int(s.chance(0.3)), int(s.chance(0.5))
    width = array.shape[-2] if a else array.shape[-1]
    out = s.size(9)
    shape = (out, width) if b else (width, out)
    if s.chance(0.3):
        shape = array.shape[:-2] + shape
    return s.play("FusedMatMul", [x, s.weights(shape, width)], domain=MS, transA=a, transB=b, alpha=float(s.choose(1, 0.5)))


def fused_conv(s, x):
    array = s.need(x, "f", ranks=(4,), small=1500)
    channels = array.shape[1]
    attributes = windows(s, array.shape[2:])
    groups = divisor(s, channels) if s.chance(0.3) else 1
    out = groups * s.choose(1, 2, 3)
    shape = (out, channels // groups, *attributes["kernel_shape"])
    inputs = [x, s.weights(shape, int(np.prod(shape[1:]))), s.numbers((out,))]
    kind = s.choose("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip")
    parameters = {"LeakyRelu": [0.1], "HardSigmoid": [0.2, 0.5], "Clip": [-0.3, 0.7]}.get(kind)
    if parameters:
        attributes["activation_params"] = parameters
    made = s.play("FusedConv", inputs, domain=MS, activation=kind, group=groups, **attributes)
    if s.chance(0.3) and not s.opens:  # a sum before the activation
        other = s.numbers(s.shape(made))
        made = s.play("FusedConv", [*inputs, other], domain=MS, activation=kind, group=groups, **attributes)
    return made


def fused_gemm(s, x):
    array = s.need(x, "f", ranks=(2,), small=600)
    out = s.size(9)
    inputs = [x, s.weights((out, array.shape[1]), array.shape[1]), s.numbers((out,))]
    return s.play("FusedGemm", inputs, domain=MS, transB=1, activation=s.choose("Relu", "Tanh", "Sigmoid", "LeakyRelu"))


def skip(s, x):
    array = s.need(x, "f", ranks=(3,))
    width = array.shape[-1]
    other = s.another(lambda y: y.dtype == array.dtype and y.shape == array.shape) or s.numbers(array.shape)
    if s.opens:  # ONNX Runtime reads rows of another batch again from the first one on
        other = s.play("Neg", [x])
    simplified = s.chance(0.4)
    inputs = [x, other, s.numbers((width,))]
    if not simplified:
        inputs.append(s.numbers((width,)) if s.chance(0.6) else "")
    if s.chance(0.5):
        inputs.append(s.numbers((width,)))
    if not inputs[-1]:
        inputs.pop()
    op = "SkipSimplifiedLayerNormalization" if simplified else "SkipLayerNormalization"
    outputs = s.choose([1], [1, 0, 0, 1])
    made = s.play(op, inputs, outputs, domain=MS, epsilon=1e-2)
    return made if isinstance(made, str) else made[0]


def embed(s, x):
    array = s.need(x, "f", ranks=(2, 3))
    rows, length = array.shape[:2]
    if length > 9:
        raise Impossible("long")
    def ids(most):
        return s.constant(s.random.integers(0, most, (rows, length)).astype(np.int32))
    tables = [s.numbers((11, 6)), s.numbers((9, 6)), s.numbers((2, 6))]
    return s.play("EmbedLayerNormalization", [ids(11), ids(2), *tables, s.numbers((6,)), s.numbers((6,))], 2, domain=MS, epsilon=1e-2)[0]


def mask_of(s, rows, length):
    if s.chance(0.5):
        mask = s.random.random((rows, length)) < 0.7
        mask[:, 0] = True
        return s.constant(mask.astype(np.int32))
    if s.opens:
        raise Impossible("3 B + 2 lengths are another mask")
    return s.constant(s.random.integers(1, length + 1, rows).astype(np.int32))


def attention(s, x):
    array = s.need(x, "f", ranks=(3,), small=600)
    rows, length, width = array.shape
    heads = s.choose(1, 2, 3)
    hidden = heads * s.choose(2, 4)
    attributes = {"num_heads": heads, "unidirectional": int(s.chance(0.3))}
    inputs = [s.weights((width, 3 * hidden), width), s.numbers((3 * hidden,))]
    mask = [mask_of(s, rows, length)] if s.chance(0.5) else []
    if s.chance(0.3):  # on codes
        scale = s.constant(np.float32(0.02))
        codes = s.play("QuantizeLinear", [x, scale, s.constant(np.uint8(128))])
        w = s.constant(s.random.integers(-60, 61, (width, 3 * hidden)).astype(np.int8))
        return s.play("QAttention", [codes, w, inputs[1], scale, s.constant(np.float32(0.01)), *(mask or [""]),
                                     s.constant(np.uint8(128)), s.constant(np.int8(0))], domain=MS, **attributes)
    return s.play("Attention", [x, *inputs, *mask], domain=MS, **attributes)


def multi_head(s, x):
    array = s.need(x, "f", ranks=(3,), small=600)
    rows, _, hidden = array.shape
    heads = divisor(s, hidden)
    keys = s.size(5)
    shape = (rows, keys, hidden)
    inputs = [x] + [s.another(lambda y: y.dtype == array.dtype and y.shape == shape) if s.chance(0.4) else None for _ in "kv"]
    inputs = [i or s.numbers(shape) for i in inputs]
    if s.chance(0.5):
        inputs.append(s.numbers((3 * hidden,)) if s.chance(0.5) else "")
        if s.chance(0.5):
            inputs.append(mask_of(s, rows, keys))
    if not inputs[-1]:
        inputs.pop()
    attributes = {"scale": 0.3} if s.chance(0.3) else {}
    return s.play("MultiHeadAttention", inputs, domain=MS, num_heads=heads, **attributes)


def group_query(s, x):
    array = s.need(x, "f", ranks=(3,), small=300)
    rows, length, _ = array.shape
    head = 8
    width = array.shape[-1]
    q = s.play("MatMul", [x, s.weights((width, 4 * head), width)])
    k = s.play("MatMul", [x, s.weights((width, 2 * head), width)])
    v = s.play("MatMul", [x, s.weights((width, 2 * head), width)])
    past = s.integer(0, 3)
    caches = [s.numbers((rows, 2, past, head)) if past else "" for _ in "kv"]
    total = past + length
    last = s.constant(np.full(rows, total - 1, np.int32))
    inputs = [q, k, v, *caches, last, s.constant(np.array([total], np.int32))]
    attributes = {"num_heads": 4, "kv_num_heads": 2}
    if s.chance(0.4):
        inputs += [s.numbers((total + 2, head // 2)), s.numbers((total + 2, head // 2))]
        attributes.update(do_rotary=1, rotary_interleaved=int(s.chance(0.4)))
    if past and length > 1 and rows > 1:
        raise Impossible("ONNX Runtime takes one row of a chunk")
    return s.play("GroupQueryAttention", inputs, 3, domain=MS, **attributes)[0]


def rotary(s, x):
    array = s.need(x, "f", ranks=(3,))
    rows, length, hidden = array.shape
    if hidden % 4:
        raise Impossible("odd")
    head = s.choose(*(h for h in range(2, hidden + 1, 2) if hidden % h == 0))
    places = s.ints(s.random.integers(0, 9, (rows, length))) if s.chance(0.5) else s.ints([0])
    tables = [s.numbers((max(9, length), head // 2)) for _ in "cs"]
    return s.play("RotaryEmbedding", [x, places, *tables], domain=MS, interleaved=int(s.chance(0.5)))


def few_bits(s, x, block=16):
    array = s.need(x, "f", ranks=(2, 3), small=600)
    k, n, bits = array.shape[-1], s.size(9), s.choose(4, 4, 8)
    blocks = -(-k // block)
    codes = s.constant(s.random.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8))
    inputs = [x, codes, s.constant(s.random.uniform(0.01, 0.05, (n, blocks)).astype(np.float32))]
    zeros = -(-blocks * bits // 8)
    inputs.append(s.constant(s.random.integers(0, 256, (n, zeros)).astype(np.uint8)) if s.chance(0.4) else "")
    inputs += ["", s.numbers((n,))] if s.chance(0.3) else []
    while not inputs[-1]:
        inputs.pop()
    return s.play("MatMulNBits", inputs, domain=MS, K=k, N=n, bits=bits, block_size=block)


MAKERS = {"ms_activation": (activation, 0.8), "fused_matmul": (fused_matmul, 0.5), "fused_conv": (fused_conv, 0.6),
          "fused_gemm": (fused_gemm, 0.3), "skip": (skip, 0.7), "embed": (embed, 0.2), "ms_attention": (attention, 0.6),
          "multi_head": (multi_head, 0.6), "group_query": (group_query, 0.4), "ms_rotary": (rotary, 0.4), "few_bits": (few_bits, 0.5)}
