# SPDX-License-Identifier: Apache-2.0
"""Q/DQ on a float graph, as exporters, tools and people place it: on weights, on activations, on some of them only."""
import dataclasses

import ml_dtypes
import numpy as np
from onnx import TensorProto

from . import formats, weights
from .formats import INT8, UINT8
from .sketch import Node

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
MOVES = ("MaxPool", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Gather", "Pad", "Concat",
         "Relu", "Dropout", "Identity", "Expand", "Tile", "GlobalMaxPool")
NORMS = ("LayerNormalization", "InstanceNormalization", "GroupNormalization")
RECURRENT = ("LSTM", "GRU", "RNN")
ABSORBED = ("Relu", "Clip", "LeakyRelu", "PRelu", "HardSwish", "Sigmoid", "Add", "BatchNormalization")
DATA_INPUTS = {**dict.fromkeys(NORMS + RECURRENT, 1), "Conv": 1, "ConvTranspose": 1, "BatchNormalization": 1, "Clip": 1, "PRelu": 1, "Reshape": 1,
               "Slice": 1, "Pad": 1, "Gather": 1, "Resize": 1, "Expand": 1, "Tile": 1, "Squeeze": 1, "Unsqueeze": 1, "Split": 1,
               "Dropout": 1, "ReduceMean": 1, "ReduceSum": 1, "ReduceMax": 1, "ReduceMin": 1}


@dataclasses.dataclass
class Codes:
    """How one tensor is coded."""
    format: formats.Format
    scale: np.ndarray
    zero: np.ndarray
    attributes: dict = dataclasses.field(default_factory=dict)  # axis and block_size, where there is more than one scale
    half: bool = False  # scales are halves, and so is what is coded
    saturate: bool = True
    clip: tuple = ()  # the lowest and the highest code that a Clip behind Q leaves (QCDQ)

    @property
    def fits_others(self):
        """Values of other shapes and ranges."""
        return not self.attributes and self.saturate


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
        self.types = s.choose((INT8,), (UINT8,), (INT8,), (UINT8,), (INT8, UINT8))
        self.symmetric = s.chance(0.35)
        self.own_pairs = s.choose(0.0, 0.0, 0.5, 1.0)  # a pair for each reader
        self.weight_types = s.choose((INT8,), (INT8,), (INT8,), (UINT8,), (INT8, UINT8))
        self.formats = formats.draw(s)
        if self.formats:
            self.types, self.weight_types = self.formats
        self.in_blocks = s.choose(0.0, 0.5, 0.9)
        self.bits = s.choose(0.0, 0.0, 0.5, 0.9)  # products by MatMulNBits
        self.contributed = s.opset >= 13 and s.chance(0.06)  # as ONNX Runtime's quantizer may write all of them
        self.by_channel = s.choose(0.0, 0.0, 0.5, 1.0)  # activations of depthwise convolutions
        self.clips = s.choose(0.0, 0.0, 0.0, 0.3, 0.9) if s.opset >= 12 else 0.0  # codes of fewer bits than their type has
        self.per_channel = s.choose(0.0, 0.5, 1.0) if s.opset >= 13 else 0.0
        self.absorbs = s.choose(0.9, 0.5, 0.0)
        self.absorbed, self.absorbing = ABSORBED, PRODUCTS + ("Add", "BatchNormalization")
        self.readers = {}
        for n in s.nodes:
            for name in n.inputs:
                self.readers.setdefault(name, []).append(n)

    # Constants of the file.

    def add(self, array, stem):
        name = self.s.name(stem)
        self.constants[name] = np.asarray(array)
        return name

    def domain(self, format_):
        contributed = self.contributed and format_.type in (np.int8, np.uint8, np.int16, np.uint16)
        return "com.microsoft" if contributed or format_.since > self.s.opset else ""

    def draw_weight_format(self):
        return self.s.choose(*self.weight_types)

    def parameters(self, scale, zero, format_, one_element=None, block=0, always=False, dequantizes=False):
        """Scale and zero point as a scalar or as one element. A zero point of uint8 that is 0 may be left out, and any in front of
        DequantizeLinear, which sees the codes."""
        s = self.s
        scale = np.asarray(scale)
        zero = np.asarray(zero).astype(format_.type if format_ else np.int32)
        if scale.ndim == 0 and not block and (s.chance(0.15) if one_element is None else one_element):
            scale, zero = scale.reshape(1), zero.reshape(1)
        names = [self.add(scale, "s")]
        optional = format_ in (UINT8, None) or (dequantizes and self.formats is not None)
        if always or not optional or np.any(zero.astype(np.float32) != 0) or s.chance(0.8 if format_ in (UINT8, None) else 0.5):
            names.append(self.add(zero, "z"))
        return names

    # Activations.

    def draw_codes(self, value, like=None):
        s = self.s
        if like is not None and like.fits_others and s.chance(0.75):
            return like
        if self.codes and s.chance(0.08):
            other = list(self.codes.values())[s.random.integers(len(self.codes))]
            if other.fits_others:
                return other
        low, high = self.ranges[value]
        low, high = min(low, 0.0), max(high, 0.0)
        width = max(high - low, 1e-3) * s.choose(1, 1, 1, 1, 0.5, 0.8, 2)
        format_ = s.choose(*self.types)
        if format_.is_float:
            return self.draw_floats(value, format_, max(-low, high, 1e-3))
        bottom, top = int(format_.lowest), int(format_.highest)
        steps = weights.steps_of_one_sign(format_)
        clip = ()
        if format_ in (INT8, UINT8) and s.chance(self.clips):
            few = s.choose(2, 3, 4, 4, 6, 7, 8)
            top = 2**(few - 1) - 1 if bottom < 0 else 2**few - 1
            bottom = -top - s.choose(0, 1) if bottom < 0 else 0
            steps = top if bottom < 0 else (top + 1) // 2
            clip = (bottom, top)
        if self.symmetric or s.chance(0.15):
            scale = max(-low, high, 1e-3) * s.choose(1, 1, 0.6) / steps
            zero = 0 if bottom < 0 else (top + 1) // 2
            if bottom == 0 and low == 0:
                scale, zero = width / top, 0
        else:
            scale = width / (top - bottom)
            zero = int(np.clip(np.round(bottom - low / scale), bottom, top))
            if s.chance(0.5 if self.bounded(value) else 0.15):
                zero = int(s.random.integers(bottom, top + 1))
        if s.chance(0.12):
            scale = 2.0 ** np.round(np.log2(scale))
        return self.several(value, Codes(format_, np.float32(scale), np.asarray(zero), clip=clip))

    def draw_floats(self, value, format_, most):
        s = self.s
        scale = most / format_.highest * s.choose(1, 1, 0.6, 2)
        if format_.highest > 1000 and s.chance(0.5):
            scale = 1.0
        if s.chance(0.2):
            scale = 2.0 ** np.round(np.log2(scale))
        codes = self.several(value, Codes(format_, np.float32(scale), np.asarray(0)))
        # Nothing is to be beyond the largest number, but may be: of E4M3FN ONNX Runtime makes 448 of 480 to 496 then, and NaN of all other.
        if s.chance(0.15) and format_.highest != 448:
            codes.saturate = False
            codes.scale = codes.scale * codes.scale.dtype.type(8)
        return codes

    def several(self, value, codes):
        """Halves for scales; one of each channel, or of each block."""
        s, shape = self.s, self.s.shape(value)
        if self.is_depthwise(value) and s.opset >= 13 and s.chance(self.by_channel):
            return self.each_channel(codes, shape[1])
        if self.formats is None:
            return codes
        # What no half holds is infinite in ONNX, of which E5M2FNUZ makes NaN, and large in ONNX Runtime, of which it makes the largest number.
        if (s.opset >= 19 and not self.domain(codes.format) and codes.scale > 2e-4 and s.chance(0.08)
                and codes.format.type is not ml_dtypes.float8_e5m2fnuz):
            codes.half, codes.scale = True, np.float16(codes.scale)
            return codes
        if s.chance(0.9) or s.opset < formats.BLOCKS or len(shape) < 2 or value in s.inside:
            return codes
        kind = codes.scale.dtype
        if s.open_batch or s.chance(0.5):
            if value in s.open_planes and len(shape) < 2:
                return codes
            return self.each_channel(codes, shape[1])
        axis, block = int(s.random.integers(len(shape))), s.choose(2, 3, 16)
        codes.attributes = {"axis": axis, "block_size": block}
        scales = formats.shape_of_scales(shape, axis, block)
        codes.scale = (codes.scale * s.random.uniform(0.8, 1.5, scales)).astype(kind)
        codes.zero = np.zeros(scales, np.int64) + codes.zero
        return codes

    def each_channel(self, codes, channels):
        codes.attributes = {"axis": 1}
        codes.scale = (codes.scale * self.s.random.uniform(0.8, 1.5, channels)).astype(codes.scale.dtype)
        codes.zero = np.zeros(channels, np.int64) + codes.zero
        return codes

    def is_depthwise(self, value):
        """Read by a Conv of as many groups as channels, as NNCF looks for."""
        if value in self.s.inside or value not in self.s.shapes:
            return False
        return any(n.op == "Conv" and n.inputs[0] == value and n.attributes.get("group", 1) == self.s.shape(value)[1] > 1
                   for n in self.readers.get(value, ()))

    def bounded(self, value):
        return any(value in n.outputs and n.op == "Clip" for n in self.s.nodes)

    def pair(self, value, codes):
        """Q and DQ behind a value: names of the codes and of the numbers."""
        s, format_, attributes = self.s, codes.format, codes.attributes
        rank = len(s.shapes.get(value, ())) or 1
        block, domain = attributes.get("block_size", 0), self.domain(format_)
        parameters = self.parameters(codes.scale, codes.zero, format_, block=block)
        again = parameters
        if not s.chance(0.7):
            again = self.parameters(codes.scale, codes.zero, format_, block=block, dequantizes=True)
        own = dict(weights.negative(s, attributes, rank) if value in s.shapes else attributes)
        if not codes.saturate:
            own["saturate"] = 0
        if s.opset >= formats.OUTPUT_TYPES and not domain and self.formats and not np.any(codes.zero) and s.chance(0.2):
            parameters = parameters[:1]
            own["output_dtype"] = format_.onnx_type
        q, d = s.name("q"), s.name("d")
        source, made = value, d
        if codes.half:
            source, made = s.name("h"), s.name("h")
            self.nodes.append(Node("Cast", [value], [source], {"to": TensorProto.FLOAT16}))
        self.nodes.append(Node("QuantizeLinear", [source, *parameters], [q], own, domain))
        if format_ is INT8 and len(again) == 1 and not self.formats:
            again = parameters
        if codes.clip:
            bounds = [self.add(np.asarray(code, format_.type), "c") for code in codes.clip]
            self.nodes.append(Node("Clip", [q, *bounds], [clipped := s.name("q")], {}))
            q = clipped
        self.nodes.append(Node("DequantizeLinear", [q, *again], [made], dict(attributes), domain))
        if codes.half:
            self.nodes.append(Node("Cast", [made], [d], {"to": TensorProto.FLOAT}))
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
            q, d = self.pair(d, dataclasses.replace(codes, scale=codes.scale * codes.scale.dtype.type(1.28)))
        self.pairs[value], self.coded[value] = d, q
        return d

    def wants_codes(self, node, value):
        """Whether the output of a node gets Q and DQ."""
        s = self.s
        readers = self.readers.get(value, [])
        if len(readers) == 1 and readers[0].op in self.absorbed and node.op in self.absorbing:
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

    def read_weights(self, node, name):
        shape = self.s.constants[name].shape
        key = name, self.weight_axis(node, shape)
        if key not in self.weights or self.s.chance(0.3):
            self.weights[key] = weights.code_constant(self, name, key[1])
        return self.weights[key]

    def read_bias(self, name, x_scale, w_scale):
        """int32 behind DequantizeLinear, mostly of the scale that the sum has."""
        s = self.s
        array = s.constants[name]
        if array.ndim != 1 or w_scale is None or np.ndim(x_scale) or s.chance(0.4):
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
        parameters = self.parameters(scale, np.full(scale.shape, zero), None,
                                     one_element=s.chance(0.3) if not scale.ndim else None)
        if len(parameters) == 2 and zero == 0 and s.chance(0.5):
            parameters = parameters[:1]
        out = s.name("d")
        self.nodes.append(Node("DequantizeLinear", [self.add(codes, "b"), *parameters], [out],
                               {"axis": 0} if scale.ndim and s.opset >= 13 else {}))
        return out

    def read_gains(self, node, inputs):
        """Gains as weights and what is added as a bias, as ONNX Runtime's quantizer codes them, or numbers."""
        if not self.s.chance(0.25):
            return
        inputs[1], scale = weights.code_constant(self, inputs[1], None)
        if len(inputs) > 2 and inputs[0] != node.inputs[0]:
            inputs[2] = self.read_bias(inputs[2], self.codes[node.inputs[0]].scale, scale)

    def read_cells(self, node, inputs):
        """W [directions, gates * hidden, width] and, in part, R: a scale for all, for each row (of all directions) or for each direction."""
        s = self.s
        for i, share in ((1, 0.9), (2, 0.5)):
            if inputs[i] in s.constants and s.chance(share):
                inputs[i] = weights.code_constant(self, inputs[i], s.choose(1, 1, 1, 1, 0))[0]

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
                    inputs[i] = weights.code_constant(self, name, None)[0]
            if self.rewrite_weights(node, inputs):
                return self.code_outputs(node)
        self.nodes.append(Node(node.op, inputs, node.outputs, node.attributes))
        self.code_outputs(node)

    def code_outputs(self, node):
        s = self.s
        for value in node.outputs:
            if value and value not in s.integers and self.wants_codes(node, value):
                source = node.inputs[0] if node.op in MOVES else None
                self.codes[value] = self.draw_codes(value, self.codes.get(source))

    def rewrite_weights(self, node, inputs):
        """Whether the node itself is another one now."""
        s = self.s
        if node.op == "Gather" and node.inputs[0] in s.constants and s.constants[node.inputs[0]].dtype == np.float32:
            inputs[0] = weights.code_constant(self, node.inputs[0], s.choose(0, 1))[0]
        if node.op in NORMS:
            self.read_gains(node, inputs)
        if node.op in RECURRENT:
            self.read_cells(node, inputs)
        if node.op not in PRODUCTS:
            return False
        if node.op == "MatMul" and self.formats and node.inputs[1] in s.constants and s.constants[node.inputs[1]].ndim == 2 and s.chance(self.bits):
            weights.product_of_bits(self, inputs[0], node.inputs[1], node.outputs[0])
            return True
        for i in (0, 1):
            if node.inputs[i] not in s.constants or not s.chance(0.95):
                continue
            inputs[i], scale = self.read_weights(node, node.inputs[i])
            x = node.inputs[1 - i]
            if len(inputs) > 2 and inputs[1 - i] != x and x in self.codes:
                inputs[2] = self.read_bias(node.inputs[2], self.codes[x].scale, scale)
        return False

    def annotate(self):
        for name in self.s.inputs:
            if name not in self.s.ids and self.s.chance(self.coverage):
                self.codes[name] = self.draw_codes(name)
        for node in self.s.nodes:
            self.rewrite(node)

    def output(self, value):
        """A leaf or a value between as the graph gives it: numbers behind Q and DQ, codes, or the float itself."""
        s = self.s
        if value not in self.codes or s.chance(0.1):
            return value, TensorProto.FLOAT
        d = self.read(value)
        if s.chance(0.12) and value in self.coded and (s.opset >= 21 or self.codes[value].format.since < 21):
            return self.coded[value], self.codes[value].format.onnx_type
        return d, TensorProto.FLOAT
