# SPDX-License-Identifier: Apache-2.0
"""A graph of any operators and types while it is drawn: each node is run by ONNX Runtime as soon as it stands, so that makers
see the numbers, and shapes that depend on data are known."""
import dataclasses

import numpy as np
import onnx
import onnxruntime
from exact_products import exact_options, with_exact_products
from onnx import helper, numpy_helper

from ..plain import for_onnxruntime
from ..sketch import Impossible

SIZES = (1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17)
DOMAINS = {"com.microsoft": 1, "ai.onnx.ml": 3}
LARGEST = 1e5
# Towards one side they end in 0 or another number, and ONNX Runtime takes what is left from a difference of nearly equal ones.
ENDING = ("Gelu", "FastGelu", "QuickGelu", "BiasGelu", "Mish", "Softplus", "Swish", "Erf", "Tanh", "Sigmoid", "Elu", "Celu", "Selu")


@dataclasses.dataclass
class Played:
    proto: object  # NodeProto
    reads: tuple  # names, those that bodies capture too


def session(model):
    options = exact_options()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    data = with_exact_products(for_onnxruntime(model)).SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def info(name, array, shape=None):
    return helper.make_tensor_value_info(name, type_of(array), shape)


class Sketch:
    """`values` are what later nodes may read, `arrays` what they are for the first inputs."""

    def __init__(self, random, opset, parent=None):
        self.random, self.opset, self.parent = random, opset, parent
        self.nodes = []
        self.constants = {}
        self.inputs = []
        self.values = []
        self.arrays = parent.arrays if parent else {}
        self.counter = parent.counter if parent else [0]
        self.nonfinite = parent.nonfinite if parent else False
        self.opens = parent.opens if parent else ""  # "first" or "all": which extents of inputs differ from run to run
        self.extreme = parent.extreme if parent else False  # integers at the ends of their types
        self.moods = parent.moods if parent else {}
        self.body_makers = parent.body_makers if parent else {}
        self.depth = parent.depth + 1 if parent else 0

    # Choices.

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, *options):
        return options[self.random.integers(len(options))]

    def integer(self, low, high):
        """From low to high, high too."""
        return int(self.random.integers(low, high + 1))

    def size(self, most=17):
        return int(self.choose(*(s for s in SIZES if s <= max(most, 1))))

    # Values.

    def name(self, stem):
        self.counter[0] += 1
        return f"{stem}{self.counter[0]}"

    def array(self, value):
        return self.arrays[value]

    def shape(self, value):
        return self.arrays[value].shape

    def rank(self, value):
        return self.arrays[value].ndim

    def type(self, value):
        return self.arrays[value].dtype

    def need(self, value, kinds="f", ranks=None, filled=True, small=None):
        """That the value is of a kind ("f" f32, "d" f64, "h" f16, "i" signed, "u" unsigned, "b" bool) and rank."""
        x = self.arrays[value]
        kind = x.dtype.char if x.dtype.kind == "f" else x.dtype.kind
        if kind not in kinds or (ranks is not None and x.ndim not in ranks) or (filled and x.size == 0):
            raise Impossible("type or rank")
        if small is not None and x.size > small:
            raise Impossible("large")
        return x

    def blends(self):
        """Some numbers are means of others: equal ones may be a rounding apart, which tells where a largest one stands."""
        return self.holds("Resize", "DFT", "STFT")

    def fades(self):
        """Some functions end in 0 or 1, and how far out they do is a matter of their approximation; bodies have such."""
        return self.holds(*ENDING, "RNN", "GRU", "LSTM", "If", "Loop", "Scan")

    def holds(self, *endings):
        """That a node whose operator ends so stands here or in a graph around, whose values a body may read."""
        return any(n.proto.op_type.endswith(endings) for n in self.nodes) or (self.parent is not None and self.parent.holds(*endings))

    def may_be_long(self, *values):
        """Some numbers of i64 may need more than 32 bits, of which ONNX Runtime compares the halves."""
        arrays = [self.array(v) for v in values]
        if arrays[0].dtype != np.int64:
            return False
        return self.depth > 0 or self.extreme or any(a.size > 0 and max(-int(a.min()), int(a.max())) >= 2**31 for a in arrays)

    def constant(self, array):
        name = self.name("c")
        self.constants[name] = self.arrays[name] = np.asarray(array)
        return name

    def numbers(self, shape, type_=np.float32, spread=1.0):
        return self.constant((spread * self.random.standard_normal(shape)).astype(type_))

    def weights(self, shape, fan, type_=np.float32):
        return self.numbers(shape, type_, 1 / np.sqrt(max(fan, 1)))

    def ints(self, values):
        return self.constant(np.array(values, np.int64))

    def another(self, fits, x=None):
        """A value that fits, or None."""
        found = [v for v in self.values if v != x and fits(self.arrays[v])]
        return self.choose(*found) if found else None

    def add_input(self, array):
        name = self.name("x")
        self.inputs.append(name)
        self.arrays[name] = array
        self.values.append(name)
        return name

    # Nodes.

    def extend(self, makers):
        """One more maker on a value, rather on one of the last."""
        if not self.values:
            raise Impossible("nothing to read")
        x = self.values[-1] if self.chance(0.6) else self.choose(*self.values)
        names = list(makers)
        shares = np.array([makers[n][1] * self.moods.get(n, 1.0) for n in names])
        maker = makers[names[self.random.choice(len(names), p=shares / shares.sum())]][0]
        kept = len(self.nodes), list(self.values)
        try:
            last = maker(self, x)
        except Impossible:
            del self.nodes[kept[0]:]
            self.values = kept[1]
            return
        if last in self.values:  # what the maker hands back is read first
            self.values.remove(last)
            self.values.append(last)

    def play(self, op, inputs, outputs=1, domain="", captures=(), **attributes):
        """Runs and adds a node; the names of its outputs, which become values. 0 for an output leaves it out."""
        count = outputs if isinstance(outputs, int) else len(outputs)
        wanted = [1] * count if isinstance(outputs, int) else list(outputs)
        names = [self.name("v") if w else "" for w in wanted]
        proto = helper.make_node(op, list(inputs), names, name=self.name("n"), domain=domain, **attributes)
        reads = tuple(dict.fromkeys([i for i in (*inputs, *captures) if i]))
        given = [n for n in names if n]
        graph = helper.make_graph([proto], "one", [info(n, self.arrays[n]) for n in reads if not self.is_constant(n)],
                                  [onnx.ValueInfoProto(name=n) for n in given],
                                  [numpy_helper.from_array(self.arrays[n], n) for n in reads if self.is_constant(n)])
        try:
            arrays = session(self.wrap(graph)).run(given, {n: self.arrays[n] for n in reads if not self.is_constant(n)})
        except Exception as error:
            raise Impossible(f"{op}: {str(error)[:200]}") from error
        for array in arrays:
            if not isinstance(array, np.ndarray):
                raise Impossible("no tensor")
            if array.size > 8192 or (array.dtype.kind == "f" and not self.bearable(array)):
                raise Impossible("large")
        self.nodes.append(Played(proto, reads))
        self.arrays.update(zip(given, arrays))
        self.values += given
        return names[0] if count == 1 else names

    def bearable(self, array):
        if self.nonfinite:
            array = array[np.isfinite(array)]
        return bool(np.isfinite(array).all()) and (array.size == 0 or float(np.abs(array).max()) < LARGEST)

    def is_constant(self, name):
        return name in self.constants or (self.parent is not None and self.parent.is_constant(name))

    def wrap(self, graph):
        known = {"": self.opset, **DOMAINS, **{n.domain: 1 for n in graph.node if n.domain not in DOMAINS and n.domain}}
        opsets = [helper.make_opsetid(d, v) for d, v in known.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10 if self.opset > 18 else 8)
