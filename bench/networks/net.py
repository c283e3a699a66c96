# SPDX-License-Identifier: Apache-2.0
"""A graph under construction, and the blocks that many networks share."""
import numpy
import onnx
from onnx import helper, numpy_helper

FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
LOWEST = numpy.finfo(numpy.float32).min


class Net:
    """A graph that grows from its inputs: one float `x` where a shape is given, any others by input(). Values are names; weights
    are drawn. `prefix` keeps the names of a body apart from those around it."""

    def __init__(self, shape=None, seed=0, prefix=""):
        self.random, self.prefix = numpy.random.default_rng(seed), prefix
        self.nodes, self.constants, self.inputs = [], [], []
        if shape is not None:
            self.input("x", shape)

    def input(self, name, shape, kind=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(self.prefix + name, kind, shape))
        return self.prefix + name

    def constant(self, array):
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def scalar(self, value):
        return self.constant(numpy.float32(value))

    def ints(self, *values):
        return self.constant(numpy.array(values, numpy.int64))

    def normal(self, shape, spread):
        return self.constant((self.random.standard_normal(shape) * spread).astype(numpy.float32))

    def numbers(self, low, high, *shape):
        return self.constant(self.random.uniform(low, high, shape).astype(numpy.float32))

    def op(self, kind, *inputs, **attributes):
        return self.ops(kind, None, *inputs, **attributes)

    def ops(self, kind, count, *inputs, **attributes):
        """One name where count is None, else a list of so many."""
        name = f"{self.prefix}v{len(self.nodes)}"
        names = [name] if count is None else [f"{name}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{name}", **attributes))
        return name if count is None else names

    def conv(self, x, ins, outs, kernel=1, stride=1, group=1, dilation=1, pad=None, rank=2):
        pad = dilation * (kernel - 1) // 2 if pad is None else pad
        taps = kernel ** rank * ins // group
        return self.op("Conv", x, self.normal((outs, ins // group, *[kernel] * rank), (2 / taps) ** 0.5), self.normal(outs, 0.1),
                       kernel_shape=[kernel] * rank, strides=[stride] * rank, pads=[pad] * 2 * rank, group=group, dilations=[dilation] * rank)

    def conv_of(self, x, ins, outs, kernel, strides=None, pads=None, group=1, bias=True):
        """A convolution whose axes differ: kernel and strides of each, pads as ONNX has them."""
        weights = self.normal((outs, ins // group, *kernel), (2 * group / ins / numpy.prod(kernel)) ** 0.5)
        pads = [(size - 1) // 2 for size in kernel] * 2 if pads is None else pads
        return self.op("Conv", x, weights, *[self.normal(outs, 0.1)] * bias, kernel_shape=list(kernel), strides=list(strides or [1] * len(kernel)),
                       pads=list(pads), group=group, dilations=[1] * len(kernel))

    def conv_transpose(self, x, ins, outs, kernel, stride, pad, rank=2):
        taps = max(kernel // stride, 1) ** rank * ins
        return self.op("ConvTranspose", x, self.normal((ins, outs, *[kernel] * rank), taps ** -0.5), self.normal(outs, 0.1),
                       kernel_shape=[kernel] * rank, strides=[stride] * rank, pads=[pad] * 2 * rank)

    def linear(self, x, ins, outs):
        return self.op("Add", self.matmul(x, ins, outs), self.normal(outs, 0.1))

    def matmul(self, x, ins, outs):
        return self.op("MatMul", x, self.normal((ins, outs), ins ** -0.5))

    def gemm(self, x, ins, outs):
        return self.op("Gemm", x, self.normal((outs, ins), ins ** -0.5), self.normal(outs, 0.1), transB=1)

    def relu(self, x):
        return self.op("Relu", x)

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def gelu(self, x):
        scaled = self.op("Erf", self.op("Div", x, self.scalar(2 ** 0.5)))
        product = self.op("Mul", x, self.op("Add", scaled, self.scalar(1)))
        return self.op("Mul", product, self.scalar(0.5))

    def gelu_tanh(self, x):
        """GELU's approximation as `x * x * x` and a tangent."""
        cube = self.op("Mul", self.op("Pow", x, self.scalar(3)), self.scalar(0.044715))
        tangent = self.op("Tanh", self.op("Mul", self.op("Add", x, cube), self.scalar((2 / numpy.pi) ** 0.5)))
        return self.op("Mul", self.op("Mul", x, self.scalar(0.5)), self.op("Add", tangent, self.scalar(1)))

    def prelu(self, x, channels):
        return self.op("PRelu", x, self.numbers(0.1, 0.4, channels, 1, 1))

    def batch_norm(self, x, channels):
        return self.op("BatchNormalization", x, self.numbers(0.5, 1.5, channels), self.normal(channels, 0.1), self.normal(channels, 0.1),
                       self.numbers(0.5, 1.5, channels))

    def layer_norm(self, x, width):
        return self.op("LayerNormalization", x, self.numbers(0.5, 1.5, width), self.normal(width, 0.1), axis=-1, epsilon=1e-6)

    def layer_norm_written(self, x, width, axis=-1):
        """LayerNorm as TorchScript writes it before operator set 17; over another axis, as image networks have their own."""
        shape = (width,) if axis == -1 else (1, width, 1, 1)
        off = self.op("Sub", x, self.op("ReduceMean", x, axes=[axis]))
        variance = self.op("ReduceMean", self.op("Pow", off, self.scalar(2)), axes=[axis])
        even = self.op("Div", off, self.op("Sqrt", self.op("Add", variance, self.scalar(1e-5))))
        return self.op("Add", self.op("Mul", even, self.numbers(0.5, 1.5, *shape)), self.normal(shape, 0.1))

    def rms_norm(self, x, width):
        mean = self.op("ReduceMean", self.op("Pow", x, self.scalar(2)), axes=[-1])
        scale = self.op("Div", self.scalar(1), self.op("Sqrt", self.op("Add", mean, self.scalar(1e-6))))
        return self.op("Mul", self.numbers(0.5, 1.5, width), self.op("Mul", x, scale))

    def group_norm(self, x, groups, channels, rank=2):
        """GroupNorm as exporters write it: every group a channel of InstanceNormalization."""
        ones, zeros = self.constant(numpy.ones(groups, numpy.float32)), self.constant(numpy.zeros(groups, numpy.float32))
        even = self.op("InstanceNormalization", self.reshape(x, 0, groups, -1), ones, zeros, epsilon=1e-5)
        even = self.op("Reshape", even, self.op("Shape", x))
        shape = (channels, *[1] * rank)
        return self.op("Add", self.op("Mul", even, self.numbers(0.5, 1.5, *shape)), self.normal(shape, 0.1))

    def squeeze_excite(self, x, channels, inner, gate="Sigmoid", function="relu"):
        mean = getattr(self, function)(self.conv(self.op("GlobalAveragePool", x), channels, inner))
        return self.op("Mul", x, self.op(gate, self.conv(mean, inner, channels)))

    def enlarge(self, x, factor=2, mode="linear"):
        attributes = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
        if mode == "nearest":
            attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.op("Resize", x, "", self.constant(numpy.array([1, 1, factor, factor], numpy.float32)), **attributes)

    def max_pool(self, x, kernel=2, stride=2, pad=0):
        return self.op("MaxPool", x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.constant(numpy.array(shape)))

    def turn(self, x, *order):
        return self.op("Transpose", x, perm=order)

    def size(self, x, axis):
        """A size of a value as a scalar, read while the network runs."""
        return self.op("Gather", self.op("Shape", x), self.constant(numpy.int64(axis)), axis=0)

    def view(self, x, *sizes):
        """A Reshape whose sizes are numbers or scalars of the graph, joined as TorchScript joins them."""
        return self.op("Reshape", x, self.joined(*sizes))

    def joined(self, *sizes):
        parts = [self.ints(size) if isinstance(size, int) else self.op("Unsqueeze", size, self.ints(0)) for size in sizes]
        return self.op("Concat", *parts, axis=0)

    def cut(self, x, start, end, axis, step=1):
        return self.op("Slice", x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step))

    def split(self, x, *sizes, axis=-1):
        return self.ops("Split", len(sizes), x, self.ints(*sizes), axis=axis)

    def concat(self, *values, axis=1):
        return self.op("Concat", *values, axis=axis)

    def attention(self, x, width, heads, tokens, batch=1):
        def split(value):
            return self.op("Transpose", self.reshape(value, batch, tokens, heads, width // heads), perm=[0, 2, 1, 3])
        query, key, value = (split(self.linear(x, width, width)) for _ in range(3))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.op("Softmax", self.op("Mul", scores, self.constant(numpy.float32((width // heads) ** -0.5))), axis=-1)
        context = self.op("Transpose", self.op("MatMul", scores, value), perm=[0, 2, 1, 3])
        return self.linear(self.reshape(context, batch, tokens, width), width, width)

    def heads_of(self, x, batch, heads, inner):
        """[batch, tokens, heads * inner] as [batch, heads, tokens, inner]."""
        return self.turn(self.view(x, batch, -1, heads, inner), 0, 2, 1, 3)

    def attend(self, query, key, value, batch, width, bias=None, scale=None):
        """Attention of heads that were cut apart; what comes out has them together."""
        scores = self.op("MatMul", query, self.turn(key, 0, 1, 3, 2))
        scores = scores if scale is None else self.op("Div", scores, self.scalar(scale))
        scores = scores if bias is None else self.op("Add", scores, bias)
        context = self.turn(self.op("MatMul", self.op("Softmax", scores, axis=-1), value), 0, 2, 1, 3)
        return self.view(context, batch, -1, width)

    def feed_forward(self, x, width):
        return self.linear(self.gelu(self.linear(self.layer_norm(x, width), width, 4 * width)), 4 * width, width)

    def graph(self, name, *outputs, kind=FLOAT):
        """The graph that computes the named values: float ones, or pairs of name and type."""
        outputs = [value if isinstance(value, tuple) else (value, kind) for value in outputs]
        outputs = [helper.make_tensor_value_info(value, its, None) for value, its in outputs]
        return helper.make_graph(self.nodes, name, self.inputs, outputs, self.constants)

    def save(self, path, *outputs):
        model = helper.make_model(self.graph(path.stem, *outputs), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
