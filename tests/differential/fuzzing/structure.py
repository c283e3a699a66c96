# SPDX-License-Identifier: Apache-2.0
"""A float graph by chance: makers applied one after the other to values that are there already."""
import numpy as np

from . import blocks, elements, matrices, norms, planes, recurrent
from .sketch import Impossible, Sketch

# Number formats came with 19, 21, 23, 24 and 25.
VERSIONS = (10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 21, 21, 21, 22, 23, 23, 24, 24, 25, 25, 25)
ANYWHERE = {**matrices.MAKERS, **elements.MAKERS, **blocks.ANY_RANK, **recurrent.MAKERS}
PLANAR = {**ANYWHERE, **planes.MAKERS, **blocks.MAKERS, **norms.MAKERS}


def draw_input(s, batch):
    # Told by the state, which draws nothing: the graphs of other seeds stay what they were.
    is_volume = s.random.bit_generator.state["state"]["state"] % 12 == 0
    kind = s.choose("image", "image", "image", "square", "signal", "tokens", "rows")
    if is_volume:
        shape = (batch, s.size(7), s.size(4), s.size(5), s.size(5))
    elif kind == "image":
        height = s.size(9)
        width = height if s.chance(0.4) else s.size(9)
        shape = (batch, s.size(17), height, width)
    elif kind == "square":  # equal sizes hide which axis is which from every check of shapes
        size = s.choose(2, 3, 4, 4, 5)
        shape = (batch if s.open_batch else s.choose(1, batch, size), size, size, size)
    elif kind == "signal":
        shape = (batch, s.size(9), s.size(17))
    elif kind == "tokens":
        shape = (batch, s.size(7), s.size(17))
    else:
        shape = (batch, s.size(33))
    name = s.add_input(shape)
    if len(shape) == 4 and s.open_batch and s.chance(0.4):
        s.open_planes.add(name)


def pick(s, weights):
    names = list(weights)
    shares = np.array([weights[n] for n in names])
    return names[s.random.choice(len(names), p=shares / shares.sum())]


def extend(s, moods):
    """One more maker on a value, rather one of the last."""
    x = s.values[-1] if s.chance(0.6) else s.choose(*s.values)
    makers = PLANAR if planes.is_planar(s, x) else ANYWHERE
    name = pick(s, {n: makers[n][1] * moods[n] for n in makers})
    kept = len(s.nodes), list(s.values), s.work
    try:
        makers[name][0](s, x)
        return True
    except Impossible:
        del s.nodes[kept[0]:]
        s.values, s.work = kept[1], kept[2]
        return False


def draw_structure(random, versions=VERSIONS):
    s = Sketch(random, int(random.choice(versions)))
    s.open_batch = s.chance(0.3)
    batch = s.choose(1, 1, 2, 3)
    for _ in range(s.choose(1, 1, 1, 2)):
        draw_input(s, batch if s.open_batch else s.choose(1, batch))
    moods = {name: float(random.exponential() ** 2) for name in PLANAR}
    wanted = s.choose(1, 2, 3, 4, 5, 6, 8, 10)
    done = 0
    for _ in range(6 * wanted):
        done += extend(s, moods)
        if done == wanted:
            break
    return s


def live(s):
    """Nodes that reach a leaf worth keeping: leaves are outputs."""
    read = {name for n in s.nodes for name in n.inputs}
    return [name for n in s.nodes for name in n.outputs if name and name not in read]
