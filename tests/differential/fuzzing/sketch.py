# SPDX-License-Identifier: Apache-2.0
"""A float graph while it is drawn: nodes in order, constants, and the shape of every value."""
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

IR_VERSIONS = {23: 11, 24: 12, 25: 13}
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 33)


@dataclasses.dataclass
class Node:
    op: str
    inputs: list
    outputs: list
    attributes: dict
    domain: str = ""


class Sketch:
    """What the makers of structure draw on. `values` are the activations that later nodes may read."""

    def __init__(self, random, opset):
        self.random = random
        self.opset = opset
        self.nodes = []
        self.constants = {}
        self.shapes = {}
        self.inputs = []
        self.ids = {}  # inputs that are indices: how many there are
        self.values = []
        self.open_batch = False
        self.open_planes = set()  # values whose height and width differ from run to run
        self.integers = set()  # values that are sizes: never in codes, never asked for
        self.inside = set()  # values whose open sizes are on other axes than `declared` says: never asked for, and of one scale
        self.count = 0
        self.work = 0  # multiply-adds, roughly

    # Choices.

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, *options):
        return options[self.random.integers(len(options))]

    def size(self, most):
        return int(self.choose(*(s for s in SIZES if s <= max(most, 1))))

    # Values.

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def shape(self, value):
        return self.shapes[value]

    def rank(self, value):
        return len(self.shapes[value])

    def add_input(self, shape):
        name = self.name("x")
        self.inputs.append(name)
        self.shapes[name] = tuple(shape)
        self.values.append(name)
        return name

    def add_ids(self, shape, count):
        name = self.name("x")
        self.inputs.append(name)
        self.shapes[name] = tuple(shape)
        self.ids[name] = count
        return name

    def constant(self, array, stem="c"):
        name = self.name(stem)
        self.constants[name] = np.asarray(array)
        return name

    def weights(self, shape, fan):
        """Normal numbers over sqrt(fan); now and then a tensor that another node reads too."""
        shape = tuple(int(s) for s in shape)
        if self.chance(0.1):
            for name, array in self.constants.items():
                if name.startswith("w") and array.shape == shape:
                    return name
        values = self.random.standard_normal(shape) / np.sqrt(max(fan, 1))
        return self.constant(values.astype(np.float32), "w")

    def numbers(self, shape, spread=1.0):
        return self.constant((spread * self.random.standard_normal(shape)).astype(np.float32))

    def axes(self, values):
        return self.constant(np.array(values, np.int64), "i")

    def node(self, op, inputs, shape, **attributes):
        """A node with one output of that shape, or with several for a list of shapes."""
        several = bool(shape) and isinstance(shape[0], tuple)
        shapes = [tuple(int(d) for d in s) for s in (shape if several else [shape])]
        if any(d < 1 for s in shapes for d in s):
            raise Impossible(f"{op} gives {shapes}")
        if any(np.prod(s) > 8192 for s in shapes):
            raise Impossible("large")
        outputs = [self.name("v") for _ in shapes]
        self.nodes.append(Node(op, list(inputs), outputs, attributes))
        for name, s in zip(outputs, shapes):
            self.shapes[name] = s
            planes = any(i in self.open_planes for i in inputs)
            if planes and len(s) == 4 and op not in ("GlobalAveragePool", "GlobalMaxPool", "ReduceMean"):
                self.open_planes.add(name)
        return outputs if several else outputs[0]

    def finish(self, value):
        self.values.append(value)
        return value

    # The model.

    def declared(self, name):
        shape = list(self.shapes[name])
        if self.open_batch and shape:
            shape[0] = "n"
        if name in self.open_planes:
            shape[2:] = ["h", "w"]
        return shape


class Impossible(Exception):
    """What was drawn does not fit the shapes at hand; another maker is tried."""


def to_model(sketch, nodes, constants, outputs):
    """`outputs`: (name, type, shape or None)."""
    made = [helper.make_node(n.op, n.inputs, n.outputs, name=f"n{i}", domain=n.domain, **n.attributes) for i, n in enumerate(nodes)]
    used = {name for n in nodes for name in n.inputs}
    tensors = [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items() if name in used]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64 if name in sketch.ids else TensorProto.FLOAT, sketch.declared(name))
              for name in sketch.inputs]
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs]
    graph = helper.make_graph(made, "fuzzed", inputs, infos, tensors)
    opsets = [helper.make_opsetid("", sketch.opset)] + [helper.make_opsetid(d, 1) for d in sorted({n.domain for n in nodes} - {""})]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSIONS.get(sketch.opset, 10 if sketch.opset > 18 else 8))
