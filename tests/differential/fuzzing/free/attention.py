# SPDX-License-Identifier: Apache-2.0
"""Attention of ai.onnx: heads apart or side by side, some of which share keys, with a past, masks and what comes later hidden."""
import numpy as np

from ..sketch import Impossible
from .products import divisor


def mask_of(s, scores):
    """Of bools or numbers, which broadcasts along rows and heads, and hides no row whole."""
    shape = tuple(1 if s.chance(0.4) else size for size in scores[:2]) + scores[2:]
    shape = shape[s.choose(0, 0, 1, 2):]
    if s.chance(0.5):
        return s.numbers(shape)
    mask = s.random.random(shape) < 0.7
    mask[..., 0] = True
    return s.constant(mask)


def attention(s, x):
    array = s.need(x, "f", ranks=(3, 4), small=600)
    if s.opset < 23:
        raise Impossible("version")
    apart = array.ndim == 4
    heads = array.shape[1] if apart else divisor(s, array.shape[2])
    size = array.shape[-1] if apart else array.shape[2] // heads
    rows, queries = array.shape[0], array.shape[2 if apart else 1]
    kv_heads, keys, v_size, past = divisor(s, heads), s.size(5), s.size(5), s.choose(0, 0, 1, 3)
    attributes = {} if apart else {"q_num_heads": heads, "kv_num_heads": kv_heads}
    if s.chance(0.3):
        attributes["softcap"] = 1.5
    if s.chance(0.3):
        attributes["scale"] = 0.7
    if s.chance(0.3):  # of other numbers of keys ONNX Runtime counts from the last
        attributes["is_causal"], keys = 1, queries

    def operand(columns):
        shape = (rows, kv_heads, keys, columns) if apart else (rows, keys, kv_heads * columns)
        found = s.another(lambda y: y.dtype == array.dtype and y.shape == shape) if s.chance(0.4) else None
        return found or s.numbers(shape)
    inputs = [x, operand(size), operand(v_size), mask_of(s, (rows, heads, queries, keys + past)) if s.chance(0.5) else ""]
    if past:
        inputs += [s.numbers((rows, kv_heads, past, size)), s.numbers((rows, kv_heads, past, v_size))]
    while not inputs[-1]:
        inputs.pop()
    made = s.play("Attention", inputs, s.choose([1], [1, 1, 1]), **attributes)
    return made if isinstance(made, str) else made[0]


MAKERS = {"attention": (attention, 0.8)}
