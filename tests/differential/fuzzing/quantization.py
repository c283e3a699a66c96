# SPDX-License-Identifier: Apache-2.0
"""Q/DQ on a float graph, as exporters, tools and people place it: on weights, on activations, on some of them only."""
import dataclasses

import numpy as np
from onnx import TensorProto

from .sketch import Node

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
MOVES = ("MaxPool", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Gather", "Pad", "Concat",
         "Relu", "Dropout", "Identity", "Expand", "Tile", "GlobalMaxPool")
ABSORBED = ("Relu", "Clip", "LeakyRelu", "PRelu", "HardSwish", "Sigmoid", "Add", "BatchNormalization")
DATA_INPUTS = {"Conv": 1, "ConvTranspose": 1, "BatchNormalization": 1, "LayerNormalization": 1, "Clip": 1, "PRelu": 1, "Reshape": 1,
               "Slice": 1, "Pad": 1, "Gather": 1, "Resize": 1, "Expand": 1, "Tile": 1, "Squeeze": 1, "Unsqueeze": 1, "Split": 1,
               "Dropout": 1, "ReduceMean": 1, "ReduceSum": 1, "ReduceMax": 1, "ReduceMin": 1}


@dataclasses.dataclass
class Codes:
    """How one tensor is coded."""
    type: type
    scale: np.float32
    zero: int


class Annotator:
    def __init__(self, sketch, ranges):
        self.s = sketch
        self.ranges = ranges  # of every float value: (low, high)
        self.nodes = []
        self.constants = dict(sketch.constants)
        self.codes = {}  # value: Codes
        self.pairs = {}  # value: output of its shared DequantizeLinear
        self.coded = {}  # value: output of its QuantizeLinear
        self.weights = {}
        s = sketch
        self.coverage = s.choose(1.0, 1.0, 1.0, 0.9, 0.7, 0.4)
        self.types = s.choose((np.int8,), (np.uint8,), (np.int8,), (np.uint8,), (np.int8, np.uint8))
        self.symmetric = s.chance(0.35)
        self.own_pairs = s.choose(0.0, 0.0, 0.5, 1.0)  # a pair for each reader
        self.weight_types = s.choose((np.int8,), (np.int8,), (np.int8,), (np.uint8,), (np.int8, np.uint8))
        self.per_channel = s.choose(0.0, 0.5, 1.0) if s.opset >= 13 else 0.0
        self.absorbs = s.choose(0.9, 0.5, 0.0)
        self.readers = {}
        for n in s.nodes:
            for name in n.inputs:
                self.readers.setdefault(name, []).append(n)

    # Constants of the file.

    def add(self, array, stem):
        name = self.s.name(stem)
        self.constants[name] = np.asarray(array)
        return name

    def parameters(self, scale, zero, type_, one_element=None):
        """Scale and zero point as a scalar or as one element; a zero point of uint8 that is 0 may be left out."""
        s = self.s
        scale, zero = np.asarray(scale, np.float32), np.asarray(zero, type_)
        if scale.ndim == 0 and (s.chance(0.15) if one_element is None else one_element):
            scale, zero = scale.reshape(1), zero.reshape(1)
        names = [self.add(scale, "s")]
        if type_ not in (np.uint8, np.int32) or zero.any() or s.chance(0.8):
            names.append(self.add(zero, "z"))
        return names

    # Activations.

    def draw_codes(self, value, like=None):
        s = self.s
        if like is not None and s.chance(0.75):
            return like
        if self.codes and s.chance(0.08):
            return list(self.codes.values())[s.random.integers(len(self.codes))]
        low, high = self.ranges[value]
        low, high = min(low, 0.0), max(high, 0.0)
        width = max(high - low, 1e-3) * s.choose(1, 1, 1, 1, 0.5, 0.8, 2)
        type_ = s.choose(*self.types)
        bottom = -128 if type_ is np.int8 else 0
        if self.symmetric or s.chance(0.15):
            scale = max(-low, high, 1e-3) * s.choose(1, 1, 0.6) / 127
            zero = 0 if type_ is np.int8 else 128
            if type_ is np.uint8 and low == 0:
                scale, zero = width / 255, 0
        else:
            scale = width / 255
            zero = int(np.clip(np.round(bottom - low / scale), bottom, bottom + 255))
            if s.chance(0.5 if self.bounded(value) else 0.15):
                zero = int(s.random.integers(bottom, bottom + 256))
        if s.chance(0.12):
            scale = 2.0 ** np.round(np.log2(scale))
        return Codes(type_, np.float32(scale), zero)

    def bounded(self, value):
        return any(value in n.outputs and n.op == "Clip" for n in self.s.nodes)

    def pair(self, value, codes):
        """Q and DQ behind a value: names of the codes and of the numbers."""
        parameters = self.parameters(codes.scale, codes.zero, codes.type)
        again = parameters if self.s.chance(0.7) else self.parameters(codes.scale, codes.zero, codes.type)
        q, d = self.s.name("q"), self.s.name("d")
        self.nodes.append(Node("QuantizeLinear", [value, *parameters], [q], {}))
        if codes.type is np.int8 and len(again) == 1:
            again = parameters
        self.nodes.append(Node("DequantizeLinear", [q, *again], [d], {}))
        return q, d

    def read(self, value):
        """What a quantized reader of the value reads."""
        codes = self.codes.get(value)
        if codes is None:
            return value
        if value in self.pairs and not self.s.chance(self.own_pairs):
            return self.pairs[value]
        q, d = self.pair(value, codes)
        if self.s.chance(0.05):  # once more, with another scale
            low, high = self.ranges[value]
            q, d = self.pair(d, Codes(codes.type, np.float32(max(high - low, 1e-3) / 200), codes.zero))
        self.pairs[value], self.coded[value] = d, q
        return d

    def wants_codes(self, node, value):
        """Whether the output of a node gets Q and DQ."""
        s = self.s
        readers = self.readers.get(value, [])
        if len(readers) == 1 and readers[0].op in ABSORBED and node.op in PRODUCTS + ("Add", "BatchNormalization"):
            return not s.chance(self.absorbs)
        return s.chance(self.coverage)

    # Weights and biases.

    def weight_axis(self, node, shape):
        if node.op == "Conv":
            return 0
        if node.op == "ConvTranspose":
            return 1 if node.attributes.get("group", 1) == 1 else None
        if node.op == "Gemm":
            return 0 if node.attributes.get("transB") else 1
        return len(shape) - 1

    def code_weights(self, name, axis):
        """The constant behind DequantizeLinear; its name there and its scales."""
        s = self.s
        array = self.s.constants[name]
        type_ = s.choose(*self.weight_types)
        axis = axis if axis is not None and s.chance(self.per_channel) else None
        rest = tuple(i for i in range(array.ndim) if i != axis) if axis is not None else None
        largest = np.maximum(np.abs(array).max(axis=rest), 1e-4)
        bottom, top = (-127, 127) if type_ is np.int8 else (0, 255)
        scale = np.asarray(largest / 127, np.float32)
        zero = np.zeros_like(scale, dtype=np.int64)
        if type_ is np.uint8:
            zero = zero + 128 if s.chance(0.6) else s.random.integers(100, 150, scale.shape)
        elif s.chance(0.05):
            zero = s.random.integers(-4, 5, scale.shape)
        if s.chance(0.1):
            scale = np.asarray(2.0 ** np.round(np.log2(scale)), np.float32)
        spread = [1] * array.ndim
        if axis is not None:
            spread[axis] = -1
        codes = np.clip(np.round(array / scale.reshape(spread if axis is not None else ()))
                        + zero.reshape(spread if axis is not None else ()), bottom, top).astype(type_)
        parameters = self.parameters(scale, zero, type_)
        attributes = {"axis": axis - (array.ndim if s.chance(0.2) else 0)} if axis is not None else {}
        out = s.name("d")
        if s.chance(0.12):  # float in the file
            q = s.name("q")
            self.nodes.append(Node("QuantizeLinear", [name, *parameters], [q], attributes))
            self.nodes.append(Node("DequantizeLinear", [q, *parameters], [out], attributes))
        elif array.ndim > 1 and s.chance(0.15):  # in another order in the file, as PyTorch leaves weights
            perm = [int(i) for i in s.random.permutation(array.ndim)]
            stored, d = codes.transpose(np.argsort(perm)), s.name("d")
            if axis is not None:
                attributes = {"axis": perm[axis]}
            self.nodes.append(Node("DequantizeLinear", [self.add(np.ascontiguousarray(stored), "w"), *parameters], [d], attributes))
            self.nodes.append(Node("Transpose", [d], [out], {"perm": perm}))
        else:
            self.nodes.append(Node("DequantizeLinear", [self.add(codes, "w"), *parameters], [out], attributes))
        return out, scale

    def read_weights(self, node, name):
        shape = self.s.constants[name].shape
        key = name, self.weight_axis(node, shape)
        if key not in self.weights or self.s.chance(0.3):
            self.weights[key] = self.code_weights(name, key[1])
        return self.weights[key]

    def read_bias(self, name, x_scale, w_scale):
        """int32 behind DequantizeLinear, mostly of the scale that the sum has."""
        s = self.s
        array = s.constants[name]
        if array.ndim != 1 or s.chance(0.4):
            return name
        scale = np.asarray(np.float32(x_scale) * np.asarray(w_scale, np.float32), np.float32)
        if scale.ndim and scale.size != array.size:
            return name
        if scale.ndim and s.chance(0.12):  # that of the first channel for all
            scale = scale[0].reshape(s.choose((), (1,)))
        elif s.chance(0.06):
            scale = np.asarray(scale * np.float32(s.choose(2, 0.7)), np.float32)
        zero = 0
        if s.chance(0.04):
            zero = int(s.random.integers(-300, 300))
        codes = np.round(array.astype(np.float64) / scale).clip(-2**30, 2**30).astype(np.int32)
        parameters = self.parameters(scale, np.full(scale.shape, zero), np.int32,
                                     one_element=s.chance(0.3) if not scale.ndim else None)
        if len(parameters) == 2 and zero == 0 and s.chance(0.5):
            parameters = parameters[:1]
        out = s.name("d")
        self.nodes.append(Node("DequantizeLinear", [self.add(codes, "b"), *parameters], [out],
                               {"axis": 0} if scale.ndim and s.opset >= 13 else {}))
        return out

    # The walk.

    def rewrite(self, node):
        s = self.s
        inputs = list(node.inputs)
        if s.chance(self.coverage):
            count = DATA_INPUTS.get(node.op, len(inputs))
            for i, name in enumerate(inputs[:count]):
                if name in self.codes and s.chance(0.97 if self.coverage == 1 else 0.9):
                    inputs[i] = self.read(name)
                elif (i > 0 and name in s.constants and node.op in ("Add", "Sub", "Mul", "Max", "Min", "Concat", "Where")
                      and s.constants[name].dtype == np.float32 and s.constants[name].size > 0 and s.chance(0.5)):
                    inputs[i] = self.code_weights(name, None)[0]
            self.rewrite_weights(node, inputs)
        self.nodes.append(Node(node.op, inputs, node.outputs, node.attributes))
        for value in node.outputs:
            if self.wants_codes(node, value):
                source = node.inputs[0] if node.op in MOVES else None
                self.codes[value] = self.draw_codes(value, self.codes.get(source))

    def rewrite_weights(self, node, inputs):
        s = self.s
        if node.op not in PRODUCTS:
            return
        for i in (0, 1):
            if node.inputs[i] not in s.constants or not s.chance(0.95):
                continue
            inputs[i], scale = self.read_weights(node, node.inputs[i])
            x = node.inputs[1 - i]
            if len(inputs) > 2 and inputs[1 - i] != x and x in self.codes:
                inputs[2] = self.read_bias(node.inputs[2], self.codes[x].scale, scale)

    def annotate(self):
        for name in self.s.inputs:
            if self.s.chance(self.coverage):
                self.codes[name] = self.draw_codes(name)
        for node in self.s.nodes:
            self.rewrite(node)

    def output(self, value):
        """A leaf or a value between as the graph gives it: numbers behind Q and DQ, codes, or the float itself."""
        s = self.s
        if value not in self.codes or s.chance(0.1):
            return value, TensorProto.FLOAT
        d = self.read(value)
        if s.chance(0.12) and value in self.coded:
            type_ = self.codes[value].type
            return self.coded[value], TensorProto.INT8 if type_ is np.int8 else TensorProto.UINT8
        return d, TensorProto.FLOAT
