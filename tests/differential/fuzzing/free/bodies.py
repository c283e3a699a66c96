# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan, whose bodies read values from around them, and bodies in bodies."""
import numpy as np
from onnx import helper, numpy_helper

from ..sketch import Impossible
from .elements import cast_to
from .sketch import Sketch, info


class Body(Sketch):
    """A body while it is drawn: what it reads from around is remembered."""

    def __init__(self, parent, values):
        super().__init__(parent.random, parent.opset, parent)
        self.values = list(values)

    def graph(self, name, inputs, outputs):
        """GraphProto, and the names that it captures."""
        made = {n for p in self.nodes for n in p.proto.output} | set(inputs)
        used = [n for p in self.nodes for n in p.reads]
        own = [n for n in dict.fromkeys(used + list(outputs)) if n in self.constants]
        captured = [n for n in dict.fromkeys(used) if n and n not in made and n not in own]
        graph = helper.make_graph([p.proto for p in self.nodes], name, [info(n, self.arrays[n], () if self.rank(n) == 0 else None) for n in inputs],
                                  [info(n, self.arrays[n]) for n in outputs],
                                  [numpy_helper.from_array(self.constants[n], n) for n in own])
        return graph, captured


def around(s, x):
    """x and a few other values that a body may read."""
    others = [v for v in s.values if v != x]
    return [str(v) for v in s.random.permutation(others)[:3]] + [x]


def grow(body, steps, makers):
    """Draws nodes; the last value made."""
    for _ in range(8 * steps):
        if len(body.nodes) >= steps:
            break
        body.extend(makers)
    if not body.nodes:
        raise Impossible("nothing in the body")
    return body.values[-1]


def alike(body, x, y, makers):
    """A value of x's shape and type that hangs on y."""
    a, b = body.array(x), body.array(y)
    if a.shape == b.shape and a.dtype == b.dtype and y != x:
        return y
    if a.dtype.char not in "fd":
        return body.play("Identity", [x])
    scalar = body.play("ReduceMax", [body.play("Cast", [y], to=1)], keepdims=0) if b.size else None
    if scalar is None or a.dtype.char != "f":
        return body.play("Add", [x, body.constant(a.dtype.type(0.5))])
    return body.play("Add", [body.play("Mul", [x, body.constant(np.float32(0.5))]), body.play("Tanh", [scalar])])


def if_(s, x):
    makers = s.body_makers
    array = s.array(x)
    if s.depth > 1:
        raise Impossible("deep")
    if s.chance(0.4):
        condition = s.constant(np.bool_(s.chance(0.5)))
    elif array.dtype.char == "f" and array.size:
        total = s.play("ReduceMax", [x], keepdims=0)
        condition = s.play("Greater", [total, s.constant(np.float32(s.choose(-1, 0.3, 2)))])
    else:
        raise Impossible("type")
    branches, captures, kinds = [], [condition], None
    for name in ("then", "else"):
        body = Body(s, around(s, x))
        y = grow(body, s.choose(1, 2, 3), makers)
        if kinds is not None and body.type(y) != kinds:
            y = cast_to(body, y, kinds)
        kinds = body.type(y)
        graph, captured = body.graph(f"{name}_{s.name('g')}", [], [y])
        branches.append(graph)
        captures += captured
    for graph in branches:  # shapes of two branches need not agree
        for output in graph.output:
            output.type.tensor_type.ClearField("shape")
    return s.play("If", [condition], captures=captures, then_branch=branches[0], else_branch=branches[1])


def loop(s, x):
    makers = s.body_makers
    array = s.need(x, "fi", filled=True, small=300)
    if s.depth > 1 or array.dtype == np.int8:
        raise Impossible("deep")
    body = Body(s, around(s, x))
    step, go, carried = s.name("step"), s.name("go"), s.name("carried")
    body.arrays.update({step: np.array(0, np.int64), go: np.array(True), carried: array})
    body.values = [v for v in body.values if v != x] + [carried]
    y = grow(body, s.choose(1, 2, 3), makers)
    out = alike(body, carried, y, makers)
    bounded = array.dtype.char == "f"
    if bounded:
        out = body.play("Tanh", [out])
    if bounded and s.chance(0.4):
        top = body.play("ReduceMax", [out], keepdims=0)
        go_on = body.play("Less", [top, body.constant(np.float32(s.choose(0.7, 0.95, 2)))])
    else:
        go_on = body.play("Identity", [go])
    outputs = [go_on, out]
    if s.chance(0.6):  # stacked, one a turn
        stacked = body.play("Identity", [out]) if s.chance(0.5) else body.play("Add", [body.play("Cast", [step], to=1),
                                                                             body.constant(np.float32(0.5))])
        outputs.append(stacked)
    graph, captured = body.graph(s.name("g"), [step, go, carried], outputs)
    for output in graph.output:  # without a turn ONNX Runtime knows shapes from here alone
        output.CopyFrom(info(output.name, body.array(output.name), body.shape(output.name)))
    trips = s.constant(np.int64(s.choose(1 if s.opens else 0, 1, 2, 3, 5)))
    first = s.choose("", s.constant(np.bool_(True))) if s.opens or s.chance(0.8) else s.constant(np.bool_(False))
    made = s.play("Loop", [trips, first, x], len(outputs) - 1, captures=[c for c in captured if c not in (step, go, carried)], body=graph)
    return made if isinstance(made, str) else made[0]


def scan(s, x):
    makers = s.body_makers
    array = s.need(x, "f", ranks=(2, 3), small=600)
    if s.depth > 1:
        raise Impossible("deep")
    axis = s.integer(0, array.ndim - 1)
    body = Body(s, [v for v in around(s, x) if v != x])
    state, piece = s.name("state"), s.name("piece")
    part = np.take(array, 0, axis)
    body.arrays.update({state: np.zeros_like(part), piece: part})
    body.values += [state, piece]
    y = grow(body, s.choose(1, 2), makers)
    mixed = body.play("Add", [state, piece])
    kept = body.play("Tanh", [alike(body, mixed, y, makers)])
    outputs = [kept, body.play("Identity", [kept])]
    graph, captured = body.graph(s.name("g"), [state, piece], outputs)
    initial = s.constant(np.zeros_like(part)) if s.chance(0.5) else s.numbers(part.shape)
    attributes = {"num_scan_inputs": 1, "scan_input_axes": [axis], "scan_input_directions": [s.choose(0, 1)],
                  "scan_output_directions": [s.choose(0, 1)], "scan_output_axes": [s.integer(0, part.ndim)]}
    made = s.play("Scan", [initial, x], 2, captures=[c for c in captured if c not in (state, piece)], body=graph, **attributes)
    return made[1]


MAKERS = {"if": (if_, 1), "loop": (loop, 1), "scan": (scan, 0.7)}
