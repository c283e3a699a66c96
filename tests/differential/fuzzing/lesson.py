# SPDX-License-Identifier: Apache-2.0
"""A float graph with one output, examples with labels for it, and what NumPy says of its outputs beside them."""
import dataclasses

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto

from . import structure
from .generate import Skipped, calibrate, input_sets, prune
from .sketch import Node, to_model

CLASSES, BINARY, NUMBERS = "cross-entropy", "binary-cross-entropy", "mean-square"
LEARNING = ("Conv", "ConvTranspose", "Gemm", "MatMul", "BatchNormalization", "LSTM", "GRU", "RNN", "Gather", "LayerNormalization",
            "InstanceNormalization", "GroupNormalization", "Einsum", "PRelu")
TRIES = 6
SAME_NUMBERS = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")


@dataclasses.dataclass
class Lesson:
    seed: int
    sketch: object
    model: object  # ModelProto
    sets: list  # of {input name: array}
    batch: int  # what the file fixes, or 0
    loss: str
    output: str
    columns: tuple  # the output's shape of one example
    classes: int = 0  # the last layer is to be one of so many

    def examples(self, count):
        """Features and labels of so many examples."""
        s, out = self.sketch, {}
        for name in s.inputs:
            shape = (count, *s.shapes[name][1:])
            out[name] = (s.random.integers(0, s.ids[name], shape) if name in s.ids
                         else s.random.standard_normal(shape).astype(np.float32))
        columns = (self.classes,) if self.classes else self.columns
        size = int(np.prod(columns, dtype=np.int64))
        if self.loss == CLASSES:
            out["y"] = s.random.integers(0, columns[-1], count)
        elif self.loss == NUMBERS:
            out["y"] = s.random.standard_normal((count, *columns)).astype(np.float32)
            if size == 1 and s.chance(0.5):
                out["y"] = out["y"].reshape(count)
        else:
            out["y"] = s.random.integers(0, 2, (count, *columns))
            if size == 1:
                out["y"] = out["y"].reshape(count)
            elif len(columns) > 1 or s.chance(0.3):
                out["y"] = out["y"].astype(np.float32)
        return out


def learns(s, name):
    return name in s.constants and s.constants[name].dtype.kind == "f" and s.constants[name].size > 1


def add_dropout(s):
    """In front of some node, as training files have it: it drops in training alone, whatever the file says."""
    if s.opset < 12:
        return
    at = int(s.random.integers(len(s.nodes)))
    node = s.nodes[at]
    places = [i for i, name in enumerate(node.inputs) if name and name not in s.constants and name not in s.ids and name not in s.integers]
    if not places or node.domain:
        return
    place = s.choose(*places)
    x, y = node.inputs[place], s.name("v")
    inputs = [x, s.constant(np.float32(s.choose(0.1, 0.5)))] + ([s.constant(np.bool_(s.chance(0.5)))] if s.chance(0.5) else [])
    s.shapes[y] = s.shapes[x]
    s.nodes.insert(at, Node("Dropout", inputs, [y], {}))
    node.inputs[place] = y
    for values in (s.open_planes, s.inside):
        if x in values:
            values.add(y)


def head(s, x):
    """A last layer of classes or numbers behind any value."""
    batch = s.shape(x)[0]
    width = int(np.prod(s.shape(x)[1:]))
    if x in s.open_planes or width > 512:
        if s.rank(x) < 3:
            return x
        width = s.shape(x)[1]
        x = s.node("GlobalAveragePool", [x], (batch, width, *[1] * (s.rank(x) - 2)))
    if s.rank(x) != 2:
        x = s.node("Flatten", [x], (batch, width))
    out = s.choose(1, 2, 3, 5, 10)
    weight = s.weights((width, out), width)
    if s.chance(0.5):
        x = s.node("Gemm", [x, weight] + ([s.numbers((out,), 0.1)] if s.chance(0.8) or s.opset < 11 else []), (batch, out))
    else:
        x = s.node("MatMul", [x, weight], (batch, out))
        if s.chance(0.7):
            x = s.node("Add", [x, s.numbers((out,), 0.1)], (batch, out))
    last = s.choose("", "", "", "Softmax" if out > 1 else "Sigmoid", "Sigmoid", "LogSoftmax" if out > 1 else "")
    return s.node(last, [x], (batch, out), **({"axis": 1} if "oftmax" in last and s.chance(0.5) else {})) if last else x


def draw_loss(s, columns, last):
    if len(columns) == 1 and columns[0] > 1:
        if "oftmax" in last:
            return CLASSES if s.chance(0.9) else NUMBERS
        return s.choose(CLASSES, CLASSES, BINARY, NUMBERS)
    return s.choose(BINARY, NUMBERS, NUMBERS)


def last_of(s, output):
    """What computes the output, seen through what only reshapes it."""
    makers = {value: n for n in s.nodes for value in n.outputs}
    while output in makers and makers[output].op in SAME_NUMBERS:
        output = makers[output].inputs[0]
    return makers[output] if output in makers else None


def draw(seed):
    """The first of a few graphs of which something can be learned."""
    for attempt in range(TRIES):
        try:
            return draw_once(seed, attempt)
        except Skipped as reason:
            last = reason
    raise last


def draw_once(seed, attempt):
    s = structure.draw_structure(np.random.default_rng([seed, 37, attempt]))
    batches = {s.shape(name)[0] for name in s.inputs}
    if len(batches) != 1:
        raise Skipped("batches of several sizes")
    batch = batches.pop()
    leaves = [v for v in structure.live(s) if s.rank(v) and s.shape(v)[0] == batch and v not in s.integers and v not in s.inside]
    if not leaves:
        raise Skipped("no output of examples")
    if s.chance(0.25):
        add_dropout(s)
    sets = input_sets(s)
    output = head(s, leaves[-1]) if s.chance(0.65) else leaves[-1]
    calibrate(s, sets)
    s.nodes, used = prune(s.nodes, [output])
    if not any(n.op in LEARNING and any(learns(s, name) for name in n.inputs) for n in s.nodes):
        raise Skipped("nothing that learns")
    s.inputs = [name for name in s.inputs if name in used]
    if not s.inputs:
        raise Skipped("no input is used")
    sets = [{name: x[name] for name in s.inputs} for x in sets]
    model = to_model(s, s.nodes, s.constants, [(output, TensorProto.FLOAT, s.declared(output) if s.chance(0.3) else None)])
    columns = tuple(s.shape(output)[1:])
    last = last_of(s, output)
    lesson = Lesson(seed, s, model, sets, 0 if s.open_batch else batch, draw_loss(s, columns, last.op if last else ""), output, columns)
    product = last is not None and last.op in ("Gemm", "MatMul", "Add") and len(columns) == 1
    if product and s.chance(0.15):
        lesson.classes = s.choose(2, 3, 7)
        lesson.loss = s.choose(CLASSES, CLASSES, NUMBERS, BINARY)
    return lesson


def run(path, features, batch):
    """The output of ONNX Runtime over all examples, so many at once."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in made.get_inputs()]
    count = len(next(iter(features.values())))
    parts = [made.run(None, {n: features[n][i:i + batch] for n in names})[0] for i in range(0, count, batch)]
    return np.concatenate([p.reshape(-1) if p.ndim == 0 else p for p in parts]).astype(np.float64)


def probabilities_at_end(path):
    """The operator that makes probabilities of the output, or nothing."""
    graph = onnx.load(path).graph
    makers = {value: n for n in graph.node for value in n.output}
    output = graph.output[0].name
    while output in makers and makers[output].op_type in ("QuantizeLinear", "DequantizeLinear", "Clip", *SAME_NUMBERS):
        output = makers[output].input[0]
    if output not in makers:
        return ""
    last = makers[output]
    over_batch = any(a.name == "axis" and a.i == 0 for a in last.attribute)
    return last.op_type if last.op_type in ("Softmax", "LogSoftmax", "Sigmoid") and not over_batch else ""


def softplus(x):
    return np.logaddexp(0, x)


def loss_of(kind, last, given, wanted, smoothing=0.0):
    """The loss that octet.h documents, or nothing where digits of probabilities are lost."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == NUMBERS:
            return float(np.mean((given.reshape(-1) - wanted.reshape(-1)) ** 2))
        if kind == BINARY:
            if last == "Sigmoid":
                given = np.log(given) - np.log1p(-given)
            z, due = given.reshape(-1), wanted.reshape(-1)
            loss = np.mean(softplus(z) - due * z)
            return float(loss) if np.isfinite(loss) and np.abs(z).max() < (8 if last == "Sigmoid" else 1e9) else None
        if last == "Softmax":
            given = np.log(given)
        logs = given - np.logaddexp.reduce(given, axis=-1, keepdims=True)
        loss = -np.mean(logs[np.arange(len(wanted)), wanted]) * (1 - smoothing) - np.mean(logs) * smoothing
        return float(loss) if np.isfinite(loss) and loss < 60 else None
