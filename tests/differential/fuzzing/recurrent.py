# SPDX-License-Identifier: Apache-2.0
"""Makers of LSTM, GRU and RNN as exporters leave them: over sequences that begin with the batch or with time, one or two layers, Y or the last state
in the order that what follows reads."""
import numpy as np

from .planes import spend
from .sketch import Impossible

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class Sequence:
    """Where the batch of the sketch is, when values are [time, batch, ...]: the axis that open sizes belong to."""

    def __init__(self, s, batch_first):
        self.s = s
        self.open_time = s.open_batch and not batch_first
        self.open_batch = s.open_batch and batch_first

    def node(self, op, inputs, shape, **attributes):
        """Whose first axis is time, or directions: no later maker may take it for the batch."""
        made = self.s.node(op, inputs, shape, **attributes)
        if self.open_batch:
            self.s.inside.update([made] if isinstance(made, str) else made)
        return made


def optional_inputs(q, op, ways, length, batch, hidden):
    """B, sequence_lens, initial_h, then initial_c and P of LSTM; left out at the end, "" between."""
    s = q.s
    inputs = [s.numbers((ways, 2 * GATES[op] * hidden), 0.3) if s.chance(0.7) else "", "", "", "", ""]
    if not s.open_batch and s.chance(0.12):
        inputs[1] = s.constant(s.random.integers(1, length + 1, batch).astype(np.int32))
    if not q.open_batch:
        for i in (2, 3) if op == "LSTM" else (2,):
            if s.chance(0.35):
                inputs[i] = s.numbers((ways, batch, hidden))
    if op == "LSTM" and s.chance(0.1):
        inputs[4] = s.numbers((ways, 3 * hidden), 0.3)
    while inputs and not inputs[-1]:
        inputs.pop()
    return inputs


def layer(q, x):
    """One operator on [time, batch, width]: ([time, batch, all directions], or None) and ([batch, all directions], or None)."""
    s = q.s
    length, batch, width = s.shape(x)
    op = s.choose("LSTM", "LSTM", "GRU", "GRU", "RNN")
    direction = s.choose("forward", "forward", "reverse", "bidirectional", "bidirectional")
    ways, hidden, gates = 2 if direction == "bidirectional" else 1, s.size(9), GATES[op]
    spend(s, length * batch * ways * gates * hidden * (width + hidden))
    inputs = [x, s.weights((ways, gates * hidden, width), width), s.weights((ways, gates * hidden, hidden), hidden),
              *optional_inputs(q, op, ways, length, batch, hidden)]
    attributes = {"hidden_size": hidden, **({} if direction == "forward" and s.chance(0.5) else {"direction": direction})}
    if op == "GRU" and s.chance(0.6):
        attributes["linear_before_reset"] = int(s.chance(0.8))
    if op == "RNN" and s.chance(0.3):
        # Not Relu, of which ONNX Runtime makes 0 where its sum is NaN, and inputs may be infinite.
        attributes["activations"] = [s.choose("Tanh", "Sigmoid", "Tanh") for _ in range(ways)]
    wants_last = not q.open_time and s.chance(0.4)  # what begins with directions is no batch of open size
    wants_all = not wants_last or s.chance(0.5)
    state = (ways, batch, hidden)
    shapes = [(length, *state), state, state] if op == "LSTM" and wants_last and not s.open_batch and s.chance(0.3) else [(length, *state), state]
    y, last, *cell = q.node(op, inputs, shapes, **attributes)
    # Only what is read has a name: a leaf is an output, which would be declared as if it began with the batch.
    names = s.nodes[-1].outputs
    names[:] = [y if wants_all else "", last if wants_last else "", *cell]
    while not names[-1]:
        names.pop()
    return in_order(q, y) if wants_all else None, by_batch(q, last) if wants_last else None


def squeeze(q, x, axis):
    s = q.s
    shape = tuple(d for i, d in enumerate(s.shape(x)) if i != axis)
    return q.node("Squeeze", [x, s.axes([axis])], shape) if s.opset >= 13 else q.node("Squeeze", [x], shape, axes=[axis])


def in_order(q, y):
    """[time, directions, batch, hidden] as the next layer reads it."""
    s = q.s
    length, ways, batch, hidden = s.shape(y)
    if ways == 1 and s.chance(0.6):
        return squeeze(q, y, 1)
    y = q.node("Transpose", [y], (length, batch, ways, hidden), perm=[0, 2, 1, 3])
    return q.node("Reshape", [y, s.axes([0, 0, -1])], (length, batch, ways * hidden))


def by_batch(q, last):
    s = q.s
    ways, batch, hidden = s.shape(last)
    if ways == 1 and s.chance(0.6):
        return squeeze(Sequence(s, False), last, 0)  # begins with the batch again
    y = s.node("Transpose", [last], (batch, ways, hidden), perm=[1, 0, 2])
    return s.node("Reshape", [y, s.axes([0, s.choose(-1, ways * hidden)])], (batch, ways * hidden))


def another_reader(q, x):
    """A second one of what the operator reads: a product, another operator on it, or the sum with a constant."""
    s = q.s
    length, batch, width = s.shape(x)
    kind = s.choose("product", "layer", "sum")
    if kind == "layer":
        return layer(q, x)[0]
    if kind == "sum":
        return q.node("Add", [x, s.numbers((width,))], s.shape(x))
    spend(s, length * batch * width * width)
    return q.node("MatMul", [x, s.weights((width, width), width)], s.shape(x))


def recurrent(s, x):
    if s.rank(x) != 3 or x in s.open_planes:
        raise Impossible("rank")
    batch_first = s.chance(0.5)
    q = Sequence(s, batch_first)

    def finish(y):
        """A value [time, batch, width] for all makers: as it is, or with the batch in front."""
        if not batch_first or (not s.open_batch and s.chance(0.2)):
            return s.finish(y)
        length, batch, width = s.shape(y)
        return s.finish(s.node("Transpose", [y], (batch, length, width), perm=[1, 0, 2]))

    sequence = x
    if batch_first:
        batch, length, width = s.shape(x)
        sequence = q.node("Transpose", [x], (length, batch, width), perm=[1, 0, 2])
    if s.chance(0.5):
        other = another_reader(q, sequence)
        if other is not None:
            finish(other)
    made, last = layer(q, sequence)
    if made is not None and s.chance(0.3):
        if s.chance(0.3):
            finish(made)
        if last is not None:
            s.finish(last)
        made, last = layer(q, made)
    if last is not None:
        s.finish(last)
    if made is None:
        return last
    return finish(made)


MAKERS = {"recurrent": (recurrent, 2)}
