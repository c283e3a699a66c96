# SPDX-License-Identifier: Apache-2.0
"""A case of operators on codes by its seed: those of files without Q/DQ, dynamic ones, of each channel, of QONNX and of blocks of few
bits, beside each other, moved, and read by several."""
import numpy as np

from . import bodies, bytes, codes, dynamic, elements, microsoft, moves, planes, products, qonnx, sums
from .draw import case_of
from .sketch import Sketch

MOVES = ("transpose", "reshape", "reshape_by_shape", "squeeze", "slice", "pad", "concat", "split", "expand", "gather")
BESIDE = {"unary": (elements.unary, 1.5), "binary": (elements.binary, 1.5), "clip": (elements.clip, 0.7), "prelu": (elements.prelu, 0.3),
          "where": (elements.where, 0.3), "conv": (products.conv, 0.5), "matmul": (products.matmul, 0.5),
          "gemm": (products.gemm, 0.5), "pool": (planes.pool, 0.4), "global_pool": (planes.global_pool, 0.2), "reduce": (sums.reduce, 0.3),
          "distribution": (sums.distribution, 0.3), "normalization": (sums.normalization, 0.4),
          **{name: (moves.MAKERS[name][0], 0.3 * moves.MAKERS[name][1]) for name in MOVES}}


def blocks_of_few_bits(s, x):
    return microsoft.few_bits(s, x, s.choose(16, 32, 64, 128))


BODY_MAKERS = {**BESIDE, **codes.MAKERS, **dynamic.MAKERS, **qonnx.MAKERS, **bytes.MAKERS}
MAKERS = {**BODY_MAKERS, "few_bits": (blocks_of_few_bits, 1.2), "if": (bodies.if_, 0.3), "loop": (bodies.loop, 0.3)}
VERSIONS = (13, 13, 16, 18, 20, 21, 21, 23)


def generate(seed):
    random = np.random.default_rng([seed, 53])
    s = Sketch(random, int(random.choice(VERSIONS)))
    s.empty = s.chance(0.05)
    s.opens = "" if s.empty else s.choose("", "", "", "first", "all")
    s.body_makers = BODY_MAKERS
    s.moods = {name: float(random.exponential() ** 2) for name in MAKERS}
    return case_of(seed, s, MAKERS, [np.float32], (2, 5, 8, 12, 16, 20, 25))
