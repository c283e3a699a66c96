# SPDX-License-Identifier: Apache-2.0
"""Models of one layer between Q and DQ, over types of codes, scales and operators, and how check, explain and repair compare with
what ONNX Runtime makes of them with all of its optimizations."""
import json
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from qdq import octet, onnxruntime_outputs

ZERO = {"uint8": 128, "int8": 0, "uint16": 1000, "int16": 0, "int32": 128}
# Those that numpy has no type for.
FEW = {"float8_e4m3fn": 0, "float8_e4m3fnuz": 0, "float8_e5m2": 0, "float8_e5m2fnuz": 0, "int4": 0, "uint4": 8, "int2": 0, "uint2": 2}
LAST = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3), "uint8": (68, 189), "uint16": (68, 189)}
random = np.random.default_rng(5)
refused, invalid = [], []

SHAPE = [2, 4, 8, 8]
# Operator: inputs that come through DQ, attributes, further inputs.
AROUND = {
    "Add": (2, {}, []), "Mul": (2, {}, []), "Sub": (2, {}, []), "Max": (2, {}, []), "Concat": (2, {"axis": 1}, []),
    "AveragePool": (1, {"kernel_shape": [2, 2]}, []), "GlobalAveragePool": (1, {}, []), "Sigmoid": (1, {}, []),
    "LeakyRelu": (1, {}, []), "Softmax": (1, {}, []), "Tanh": (1, {}, []), "MaxPool": (1, {"kernel_shape": [2, 2]}, []),
    "Transpose": (1, {}, []), "Flatten": (1, {}, []), "Reshape": (1, {}, [np.array([2, -1])]),
    "Unsqueeze": (1, {}, [np.array([0])]), "Slice": (1, {}, [np.array([0]), np.array([1])]),
    "Gather": (1, {"axis": 1}, [np.array([0, 2])]), "Expand": (1, {}, [np.array([3, *SHAPE])]),
    "Tile": (1, {}, [np.array([1, 1, 1, 2])]), "DepthToSpace": (1, {"blocksize": 2}, []),
    "SpaceToDepth": (1, {"blocksize": 2}, []), "Pad": (1, {}, [np.array([0, 0, 1, 1, 0, 0, 1, 1])]),
    "Split": (1, {"axis": 1}, []), "ReduceMax": (1, {}, []), "ReduceMean": (1, {}, []), "ArgMax": (1, {"axis": 1}, []),
    "Resize": (1, {"mode": "nearest"}, [None, np.array([1, 1, 2, 2], np.float32)]),
    "Resize linear": (1, {"mode": "linear"}, [None, np.array([1, 1, 2, 2], np.float32)]), "MatMul": (2, {}, []),
}


def opset_of(*kinds):
    return 25 if {"int2", "uint2"} & set(kinds) else 21


class Model:
    """`bare`: whose Q and DQ have no zero point, or ("x dq") whose DQ."""

    def __init__(self, opset, bare=()):
        self.nodes, self.constants, self.opset, self.bare = [], [], opset, bare

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def codes(self, name, kind, values):
        if kind in ZERO:
            return self.constant(name, np.asarray(values).astype(kind))
        of = getattr(TensorProto, kind.replace("float8_", "float8").upper())
        self.constants.append(helper.make_tensor(name, of, np.shape(values), np.ravel(values).tolist()))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, output if isinstance(output, list) else [output],
                                           name=attributes.pop("name", ""), **attributes))
        return output

    def parameters(self, name, kind, scale, count=None):
        full = (lambda v: np.full(count, v)) if count else np.asarray
        if name in self.bare:
            return [self.constant(f"{name}/s", full(scale).astype(np.float32))]
        zero = FEW[kind] if kind in FEW else ZERO[kind]
        return [self.constant(f"{name}/s", full(scale).astype(np.float32)), self.codes(f"{name}/z", kind, full(zero))]

    def pair(self, value, name, kind, scale=0.05, count=None, axis=1):
        """Q and DQ; of int32 a Cast between them, for Q makes no such codes."""
        along = {"axis": axis} if count else {}
        if kind == "int32":
            s, z = self.parameters(f"{name}/8", "uint8", scale, count)
            codes = self.node("Cast", [self.node("QuantizeLinear", [value, s, z], f"{name}/q8", **along)], f"{name}/q", to=6)
            return self.node("DequantizeLinear", [codes, *self.parameters(name, kind, scale, count)], f"{name}/dq", **along)
        parameters = self.parameters(name, kind, scale, count)
        q = self.node("QuantizeLinear", [value, *parameters], f"{name}/q", **along)
        return self.node("DequantizeLinear", [q, *parameters[:1 if f"{name} dq" in self.bare else 2]], f"{name}/dq", **along)

    def made(self, shape, outputs, kind):
        graph = helper.make_graph(self.nodes, "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(y, kind, None) for y in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10 if self.opset < 25 else 13)


def around(title, kind, wide, behind, bare=(), opset=None):
    """`wide`: which input, or "out", has several scales; `behind`: the scale of the Q behind, or None; `bare`: of the inputs and
    "o/behind", which have no zero point."""
    op = title.split()[0]
    count, attributes, more = AROUND[title]
    m = Model(opset or opset_of(kind), bare)
    inputs = [m.pair("x", f"in{i}", kind, count=4 if wide == f"in{i}" else None) for i in range(count)]
    inputs += ["" if v is None else m.constant(f"more{i}", v) for i, v in enumerate(more)]
    outputs = ["o", "p"] if op == "Split" else ["o"]
    attributes = dict(attributes, **({"num_outputs": 2} if op == "Split" else {}))
    m.node(op, inputs, list(outputs), name="layer", **attributes)
    if behind and op != "ArgMax":
        out = "uint8" if kind == "int32" else kind
        outputs = [m.pair(o, f"{o}/behind", out, behind, 4 if wide == "out" else None) for o in outputs]
    return m.made(SHAPE, outputs, TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT), SHAPE


# How the values of a weight's DQ come to the layer: operators, with their attributes and the inputs for the shape.
WAYS = {"Transpose": lambda shape: ([], {"perm": [1, 0, *range(2, len(shape))]}), "Reshape": lambda shape: ([np.array(shape)], {}),
        "Squeeze": lambda shape: ([np.array([0])], {}), "Slice": lambda shape: ([np.array([0]), np.array([shape[0]])], {}),
        "Relu": lambda shape: ([], {})}


def nothing(m, op, value):
    """An operator that hands on what comes in."""
    name = f"{value}/{op}"
    more = [m.constant(f"{name}/{i}", v) for i, v in enumerate(NOTHING[op])]
    return m.node(op.split()[0], [*more, value] if op == "Add" else [value, *more], name, **({"to": 1} if op == "Cast" else {}))


# Further inputs with which they do nothing.
NOTHING = {"Identity": [], "Dropout": [], "Cast": [], "Max": [], "Add": [np.float32(0)], "Sub": [np.float32(0)], "Mul": [np.float32(1)],
           "Div": [np.float32(1)], "Expand": [np.array([1])], "Slice": [np.array([0]), np.array([2**63 - 1])], "Slice to 99": [np.array([0]), np.array([99])]}


def stored(shape, way):
    """The shape of what `way` makes `shape` of."""
    return {"Transpose": [shape[1], shape[0], *shape[2:]], "Reshape": [shape[0], int(np.prod(shape[1:])), 1], "Squeeze": [1, *shape],
            "Slice": [shape[0] + 1, *shape[1:]]}.get(way, shape)


def product(op, kind, wide, weight, scales, behind, bias, bare=(), width=6, way=None, idle=(None, None), beside=None, opset=None):
    """`scales` of the weight as it is stored: one, a column each, a row each, or blocks of rows; `bare`: of x, w and "behind", which
    have no zero point; `width`: of the 4 inputs so many outputs are made; `way`: what stands behind the weight's DQ; `idle`: what does nothing, and whether
    behind the DQ of "x", that of "w" or the layer; `beside`: x comes through a Squeeze, and who else reads it then."""
    m = Model(opset or opset_of(kind, weight, behind), bare)
    shape, of_weight, columns = {
        "MatMul": ([3, 4], [4, width], 1), "batched MatMul": ([2, 3, 4], [4, width], 1), "MatMul of 3": ([2, 3, 4], [2, 4, width], 2),
        "Gemm": ([3, 4], [4, width], 1), "Gemm transB": ([3, 4], [width, 4], 0), "MatMul, Add": ([3, 4], [4, width], 1),
        "Conv": ([1, 4, 5, 5], [width, 4, 3, 3], 0)}[op]
    made, of_weight = of_weight, stored(of_weight, way)
    x = m.pair("x", "x", kind, count=4 if wide else None, axis=1 if op == "Conv" else len(shape) - 1)
    more = []
    if beside:
        shape = [1, *shape]
        x = m.node("Squeeze", [x, m.constant("axis", np.array([0]))], "squeezed")
        read = {"nothing": lambda: [], "Neg": lambda: [m.node("Neg", [x], "negative")], "output": lambda: [x],
                "Transpose": lambda: [m.node("Neg", [m.node("Transpose", [x], "turned")], "negative")],
                "Transpose, Q": lambda: [m.pair(m.node("Transpose", [x], "turned"), "beside", kind), "turned"],
                "Q": lambda: [m.pair(x, "beside", kind)]}[beside]
        more = read()
    if idle[1] == "x":
        x = nothing(m, idle[0], x)
    axis = {"one": None, "column": columns, "row": 1 - columns if columns < 2 else 1, "block": 0}[scales]
    size = of_weight[axis] if axis is not None and scales != "block" else None
    if weight == "float32":
        inputs = [x, m.constant("w", random.normal(size=of_weight).astype(np.float32))]
    else:
        low, high = LAST.get(weight, (-60, 60))
        codes = m.codes("w", weight, random.integers(low, high + 1, of_weight))
        spread = np.linspace(0.02, 0.04, size, dtype=np.float32) if size else 0.02  # which is whose must show
        parameters = m.parameters("w", weight, spread, size if scales != "block" else [2, width])
        along = {} if axis is None else {"axis": axis}
        inputs = [x, m.node("DequantizeLinear", [codes, *parameters], "w/dq", **along, **({"block_size": 2} if scales == "block" else {}))]
        if way:
            further, attributes = WAYS[way](made)
            inputs[1] = m.node(way, [inputs[1], *(m.constant(f"way{i}", v) for i, v in enumerate(further))], "way", **attributes)
    if idle[1] == "w":
        inputs[1] = nothing(m, idle[0], inputs[1])
    if bias == "float":
        inputs.append(m.constant("b", np.linspace(-1, 1, width, dtype=np.float32)))
    if bias == "int32":
        each = scales == "column" and size == width
        inputs.append(m.node("DequantizeLinear", [m.constant("b", np.arange(width, dtype=np.int32) * 1000),
                                                  m.constant("b/s", np.float32(0.05) * np.float32(spread if each else 0.02))],
                             "b/dq", **({"axis": 0} if each else {})))
    if op == "MatMul, Add":
        y = m.node("Add", [m.node("MatMul", inputs[:2], "m", name="layer"), inputs[2]], "o")
    else:
        transposed = {"transB": 1} if op.endswith("transB") else {}
        y = m.node(op.split()[-1] if op.startswith("batched") else op.split()[0], inputs, "o", name="layer", **transposed)
    if idle[1] == "layer":
        y = nothing(m, idle[0], y)
    if behind:
        y = m.pair(y, "behind", behind)
    return m.made(shape, [y, *more], TensorProto.FLOAT), shape


def read_outside(moves, kind, readers):
    """What values come through before a Q, where the first of them is an output of the graph, too, and others may read it."""
    m = Model(opset_of(kind))
    first = value = m.node("Neg", ["x"], "n")
    for i, op in enumerate(moves):
        _, attributes, more = AROUND.get(op, (1, {}, []))
        value = m.node(op, [value, *(m.constant(f"{i}/{k}", v) for k, v in enumerate(more))], f"m{i}", name="" if i else "layer", **attributes)
    outputs = [first, m.pair(value, "behind", kind)] + [m.node("Exp", [first], f"e{i}") for i in range(readers)]
    return m.made(SHAPE, outputs, TensorProto.FLOAT), SHAPE


def padded(op, kind, pads, value, own, counts, before):
    """A Pad of `value` in front of a Conv or pool, itself behind DQ, or a Relu or nothing in f32 (`kind` None)."""
    m = Model(opset_of(kind))
    x = m.pair("x", "x", kind) if kind else "x"
    x = m.node(before, [x], "before") if before else x
    x = m.node("Pad", [x, m.constant("pads", np.array(pads)), *([] if value is None else [m.constant("value", np.float32(value))])], "pad")
    attributes = {"pads": [own] * 4}
    if op == "Conv":
        codes = m.codes("w", "int8", random.integers(-60, 61, [4, 4, 3, 3]))
        inputs = [x, m.node("DequantizeLinear", [codes, *m.parameters("w", "int8", 0.02)], "w/dq")]
    else:
        inputs, attributes["kernel_shape"] = [x], [3, 3]
    if op == "AveragePool":
        attributes["count_include_pad"] = counts
    y = m.node(op, inputs, "o", name="layer", **attributes)
    return m.made(SHAPE, [m.pair(y, "behind", kind) if kind else y], TensorProto.FLOAT), SHAPE


def precision_there(path, op):
    graph = onnx.load(path).graph
    makers = {value: n for n in graph.node for value in n.output}
    integer = {"QLinear" + op, "QGemm" if op == "Gemm" else "", "MatMulIntegerToFloat" if op == "MatMul" else ""}
    for n in graph.node:
        if n.op_type in integer:
            return "int8"
        if n.op_type in (op, "FusedMatMul" if op == "MatMul" else op):
            maker = makers.get(n.input[0])
            return "codes" if maker is not None and maker.op_type in ("QuantizeLinear", "Cast") else "float"
    return None


def faults(title, model, shape, folder):
    path, optimized = folder / "model.onnx", folder / "optimized.onnx"
    onnx.save(model, path)
    optimized.unlink(missing_ok=True)
    x = random.normal(0, 2, shape).astype(np.float32)
    plain, broken = onnxruntime_outputs(path, x)
    if broken:
        invalid.append(title)
        return []  # not what optimizations do
    given, error = onnxruntime_outputs(path, x, optimized)
    near = 1e-4 if "behind:None" in title else 0.0501  # one step of the Q behind
    near = 0.02 if near < 0.02 and "float16" in title else near
    # It quantizes the float weight of a Conv or Gemm between Q/DQ by itself.
    near = np.inf if "float32" in title else near
    same = lambda outputs: all(np.allclose(a, b, rtol=1e-5, atol=near) for a, b in zip(plain, outputs))
    accepted = octet("check", path, "--target", "onnxruntime").returncode == 0
    if accepted != (error is None and same(given)):
        return [f"{title}: check {'accepts' if accepted else 'refuses'} it, ONNX Runtime: {error or 'runs, ' + ('the same' if same(given) else 'other')}"]
    if accepted:
        said = json.loads(octet("explain", path, "--target", "onnxruntime", "--json").stdout)["onnxruntime"]["layers"]
        mine = next(layer for layer in said if layer["node"] == "layer")
        there = precision_there(optimized, next(n.op_type for n in model.graph.node if n.name == "layer"))
        if there and there != mine["precision"]:
            return [f"{title}: explain says {mine['precision']} ({mine['form']}: {mine['why']}), ONNX Runtime {there}"]
        return []
    refused.append(title)
    fixed = folder / "fixed.onnx"
    repaired = octet("repair", path, "--target", "onnxruntime", "-o", fixed, "--force")
    if repaired.returncode != 0:
        return [f"{title}: not repaired: {repaired.stdout[-600:]}{repaired.stderr}"]
    again, error = onnxruntime_outputs(fixed, x, optimized)
    if error:
        return [f"{title}: repaired, ONNX Runtime says {error}"]
    if not same(again):
        return [f"{title}: repaired, other values"]
    return []


def report(grid):
    """Of all the files; the exit status."""
    found, count = [], 0
    with tempfile.TemporaryDirectory() as name:
        for title, (model, shape) in grid:
            count += 1
            found += faults(title, model, shape, pathlib.Path(name))
    print(f"{count} files, {len(invalid)} of them for no runtime, {len(refused)} refused and repaired, {len(found)} faults")
    for fault in found[:50]:
        print(fault)
    return 1 if found else 0
