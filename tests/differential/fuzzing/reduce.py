# SPDX-License-Identifier: Apache-2.0
"""A smaller case with the same finding: outputs, what follows, what comes before, and single nodes go."""
import copy
import dataclasses
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .generate import session
from .plain import for_onnxruntime
from .verdict import judge


def signature(finding):
    """Equal for findings of one kind: without names, numbers and places."""
    text = finding.text if "refused" in finding.kind or "bounds" in finding.kind else ""
    if "shape [" in finding.text:
        text = "shape " + text
    text = re.sub(r"\"[^\"]*\"|'[^']*'|\([^)]*\)|\[[\d, -]*\]", "", text.replace(" (check accepts it)", " check"))
    return finding.kind, re.sub(r"[\w/]*\d[\w/]*", "", text)[:120]


def types_of(model):
    """Types of all values, with symbols where the sizes are open."""
    inferred = onnx.shape_inference.infer_shapes(for_onnxruntime(model))
    graph = inferred.graph
    return {v.name: v.type for v in (*graph.input, *graph.value_info, *graph.output)}


def reads(node):
    """Names that a node reads, in its bodies too."""
    out = set(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            out |= reads(inner)
        out |= {o.name for o in attribute.g.output}
    return out


def pruned(model):
    graph = model.graph
    wanted = {o.name for o in graph.output}
    kept = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= reads(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
    for field in (graph.initializer, graph.input):
        entries = [entry for entry in field if entry.name in wanted]
        del field[:]
        field.extend(entries)
    return model


class Reducer:
    def __init__(self, case, wanted, runner, steps=600):
        self.case, self.wanted, self.runner, self.steps = case, wanted, runner, steps
        self.arrays = None

    def attempt(self, model, sets=None):
        """Takes the smaller case when it still shows the finding."""
        if self.steps == 0 or not model.graph.node or not model.graph.input:
            return False
        self.steps -= 1
        sets = self.case.sets if sets is None else sets
        names = [i.name for i in model.graph.input]
        try:
            case = dataclasses.replace(self.case, model=model, sets=[{name: x[name] for name in names} for x in sets])
            found = any(signature(f) == self.wanted for f in judge(case, self.runner).findings)
        except Exception:  # a model that does not hold together
            return False
        if found:
            self.case = case
        return found

    def values(self):
        """All values for each set of inputs, by ONNX Runtime; empty where it refuses."""
        model = copy.deepcopy(self.case.model)
        types = types_of(model)
        names = [name for n in model.graph.node for name in n.output if name in types]
        del model.graph.output[:]
        model.graph.output.extend(onnx.ValueInfoProto(name=name, type=types[name]) for name in names)
        try:
            made = session(model)
            return types, [{**x, **dict(zip(names, made.run(None, x)))} for x in self.case.sets]
        except Exception:
            return types, []

    def fewer_sets(self):
        for x in list(self.case.sets) if len(self.case.sets) > 1 else []:
            if self.attempt(self.case.model, [x]):
                return

    def fewer_outputs(self):
        for k in reversed(range(len(self.case.model.graph.output))):
            if len(self.case.model.graph.output) > 1 and k < len(self.case.model.graph.output):
                model = copy.deepcopy(self.case.model)
                del model.graph.output[k]
                self.attempt(pruned(model))

    def cut_end(self):
        """The first value that shows it becomes the output."""
        types = types_of(self.case.model)
        outputs = {o.name for o in self.case.model.graph.output}
        for name in [name for n in self.case.model.graph.node for name in n.output]:
            if name in outputs or name not in types:
                continue
            model = copy.deepcopy(self.case.model)
            del model.graph.output[:]
            model.graph.output.append(onnx.ValueInfoProto(name=name, type=types[name]))
            if self.attempt(pruned(model)):
                return

    def cut_start(self):
        """Values become inputs, the last ones first."""
        types, sets = self.values()
        if not sets:
            return
        for name in reversed([name for n in self.case.model.graph.node for name in n.output]):
            model = copy.deepcopy(self.case.model)
            producer = next((n for n in model.graph.node if name in n.output), None)
            if producer is None or name not in types or name not in sets[0]:
                continue
            if producer.op_type in ("QuantizeLinear", "DequantizeLinear") and any(
                    i in {t.name for t in model.graph.initializer} for i in producer.input[:1]):
                continue
            if len(producer.output) > 1 or name in {o.name for o in model.graph.output}:
                continue
            producer.output[0] = name + "_unused"
            model.graph.input.append(onnx.ValueInfoProto(name=name, type=types[name]))
            self.attempt(pruned(model), sets)

    def bypass(self):
        """A node's input stands for its output."""
        types, sets = self.values()
        shapes = {k: (v.shape, v.dtype) for k, v in (sets[0] if sets else {}).items()}
        for node in list(self.case.model.graph.node):
            if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
                continue
            for name in node.input:
                if name in shapes and shapes[name] == shapes.get(node.output[0]):
                    if self.attempt(self.without(node, {node.output[0]: name})):
                        break
        for node in list(self.case.model.graph.node):  # Q and DQ together
            if node.op_type != "DequantizeLinear":
                continue
            q = next((n for n in self.case.model.graph.node if node.input[0] in n.output), None)
            if q is not None and q.op_type == "QuantizeLinear":
                self.attempt(self.without(node, {node.output[0]: q.input[0]}))

    def without(self, node, instead):
        model = copy.deepcopy(self.case.model)
        for other in model.graph.node:
            for i, name in enumerate(other.input):
                other.input[i] = instead.get(name, name)
        types = types_of(self.case.model)
        for i, output in enumerate(model.graph.output):
            name = instead.get(output.name)
            if name is not None and name in types:
                model.graph.output[i].CopyFrom(onnx.ValueInfoProto(name=name, type=types[name]))
        return pruned(model)

    def fewer_operands(self):
        """Biases and weights' Q/DQ: an omitted operand, a float constant."""
        for node in list(self.case.model.graph.node):
            if node.op_type in ("Conv", "Gemm", "ConvTranspose") and len(node.input) > 2:
                model = copy.deepcopy(self.case.model)
                for other in model.graph.node:
                    if other.output[0] == node.output[0]:
                        del other.input[2:]
                self.attempt(pruned(model))
        _, sets = self.values()
        for node in list(self.case.model.graph.node) if sets else []:
            constants = {t.name for t in self.case.model.graph.initializer}
            if node.op_type != "DequantizeLinear" or node.input[0] not in constants or node.output[0] not in sets[0]:
                continue
            model = copy.deepcopy(self.case.model)
            model.graph.initializer.append(numpy_helper.from_array(sets[0][node.output[0]], node.output[0] + "_float"))
            for other in model.graph.node:
                for i, name in enumerate(other.input):
                    if name == node.output[0]:
                        other.input[i] = name + "_float"
            self.attempt(pruned(model))

    def reduce(self):
        self.fewer_sets()
        self.fewer_outputs()
        while True:
            before = len(self.case.model.graph.node)
            self.cut_end()
            self.cut_start()
            self.bypass()
            self.fewer_operands()
            if len(self.case.model.graph.node) == before or self.steps == 0:
                return self.case


def describe(case):
    """The nodes of a model, one a line, small constants in place."""
    graph = case.model.graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}

    def word(name):
        array = constants.get(name)
        if array is None:
            return name or "-"
        if array.size <= 8:
            return f"{array.dtype} {np.array2string(array, precision=6, separator=',')}".replace("\n", "")
        return f"{name}: {array.dtype} {list(array.shape)}"

    def shape(value):
        return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]

    opset = next(o.version for o in case.model.opset_import if o.domain == "")
    lines = [f"opset {opset}"]
    for value in graph.input:
        kind = TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()
        lines.append(f"input {value.name}: {kind}{shape(value)}, given {[list(x[value.name].shape) for x in case.sets]}")
    for node in graph.node:
        attributes = ", ".join(f"{a.name}={helper.get_attribute_value(a)}" for a in node.attribute if not a.HasField("g"))
        lines.append(f"{', '.join(node.output)} = {node.op_type}({', '.join(map(word, node.input))}) {{{attributes}}}")
        for attribute in node.attribute:
            for inner in attribute.g.node:
                lines.append(f"  {attribute.name}: {', '.join(inner.output)} = {inner.op_type}({', '.join(inner.input)}) "
                             + str([a.name for a in inner.attribute]))
    lines.append("output " + ", ".join(o.name for o in graph.output))
    return "\n".join(lines)
