# SPDX-License-Identifier: Apache-2.0
# How simplify, quantize and repair grow with the graph: chains of small layers, as exporters write them, of SMALL and of
# LARGE nodes. Prints seconds and peak memory of both and their ratio, which is 5 where the cost is linear; exit 1 where
# one is more than 6. A command that takes longer than TIMEOUT seconds is ended.
#
# usage: tools/setup-peers --run bench/large_graphs.py OCTET [SMALL LARGE [TIMEOUT]]      (10000 50000 600)
import multiprocessing
import os
import pathlib
import sys
import tempfile
import threading
import time

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE, TOKENS, WIDTH = 8, 4, 4, 8


class Builder:
    def __init__(self, nodes):
        self.random = numpy.random.default_rng(0)
        self.limit, self.nodes, self.constants, self.kept, self.layer = nodes, [], [], {}, 0

    def node(self, op, *inputs, **attributes):
        name = f"{self.layer}/{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name + "_y"], name, **attributes))
        return name + "_y"

    def constant(self, what, array):
        name = f"{self.layer}/{what}_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def shared(self, what, array):
        """One for all of its readers, as exporters keep zero points and factors."""
        array = numpy.asarray(array)
        key = what, array.dtype.name, array.shape, array.tobytes()
        if key not in self.kept: self.kept[key] = self.constant(what, array)
        return self.kept[key]

    def weight(self, *shape):
        fan_in = int(numpy.prod(shape[1:] if len(shape) > 2 else shape[:1]))
        return self.random.normal(0, fan_in ** -0.5, shape).astype(numpy.float32)

    def number(self, value, kind=numpy.float32):
        """As exporters write one: a node."""
        return self.node("Constant", value=numpy_helper.from_array(numpy.asarray(value, kind)))

    def model(self, shape, block):
        x = "x"
        while len(self.nodes) < self.limit:
            x = block(self, x)
            self.layer += 1
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "large", [value("x")], [value(x)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def convolution(b, x):
    """Convolution, normalization, activation; a flattened view by computed shapes; a residual."""
    y = b.node("Conv", x, b.constant("w", b.weight(CHANNELS, CHANNELS, 3, 3)), pads=[1, 1, 1, 1])
    statistics = [b.constant(what, numpy.full(CHANNELS, value, numpy.float32))
                  for what, value in (("gain", 0.5), ("shift", 0.1), ("mean", 0.0), ("variance", 1.0))]
    y = b.node("Relu", b.node("BatchNormalization", y, *statistics))
    y = b.node("Dropout", b.node("Identity", y))
    batch = b.node("Unsqueeze", b.node("Gather", b.node("Shape", y), b.number(0, numpy.int64)), b.number([0], numpy.int64))
    rest = b.number([CHANNELS, SIDE, SIDE], numpy.int64)
    y = b.node("Reshape", b.node("Transpose", b.node("Transpose", y, perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2]),
               b.node("Concat", batch, rest, axis=0))
    return b.node("Add", b.node("Mul", x, b.shared("half", numpy.float32(0.5))), y)


def normalized(b, x):
    centered = b.node("Sub", x, b.node("ReduceMean", x, axes=[-1]))
    variance = b.node("ReduceMean", b.node("Pow", centered, b.number(2.0)), axes=[-1])
    y = b.node("Div", centered, b.node("Sqrt", b.node("Add", variance, b.number(1e-5))))
    return b.node("Add", b.node("Mul", y, b.constant("gain", numpy.ones(WIDTH, numpy.float32))),
                  b.constant("shift", b.weight(WIDTH)))


def product(b, x, width_in, width_out):
    y = b.node("MatMul", x, b.constant("w", b.weight(width_in, width_out)))
    return b.node("Add", b.constant("b", b.weight(width_out)), y)


def transformer(b, x):
    heads = lambda perm: b.node("Transpose", b.node("Reshape", product(b, x, WIDTH, WIDTH),
                                                    b.number([0, 0, 2, WIDTH // 2], numpy.int64)), perm=perm)
    scores = b.node("MatMul", heads([0, 2, 1, 3]), heads([0, 2, 3, 1]))
    context = b.node("MatMul", b.node("Softmax", b.node("Div", scores, b.number(2.0)), axis=-1), heads([0, 2, 1, 3]))
    joined = b.node("Reshape", b.node("Transpose", context, perm=[0, 2, 1, 3]), b.number([0, 0, WIDTH], numpy.int64))
    x = normalized(b, b.node("Add", product(b, joined, WIDTH, WIDTH), x))
    y = product(b, x, WIDTH, 2 * WIDTH)
    gelu = b.node("Add", b.node("Erf", b.node("Div", y, b.number(2 ** 0.5))), b.number(1.0))
    y = b.node("Mul", b.node("Mul", y, gelu), b.number(0.5))
    return normalized(b, b.node("Add", product(b, y, 2 * WIDTH, WIDTH), x))


def pair(b, x, scale, *zero_point):
    parameters = [b.constant("scale", numpy.float32(scale))]
    parameters += [b.shared("zero_point", z) for z in zero_point]
    return b.node("DequantizeLinear", b.node("QuantizeLinear", x, *parameters), *parameters)


def codes(b, shape, axis, with_zero):
    """A weight in 8 bits; without a zero point, which TensorRT wants, on every second layer."""
    channels = shape[axis]
    inputs = [b.constant("codes", b.random.integers(-127, 128, shape, numpy.int8)),
              b.constant("scale", b.random.uniform(1e-3, 2e-3, channels).astype(numpy.float32))]
    if with_zero: inputs.append(b.shared("zero_point", numpy.zeros(channels, numpy.int8)))
    return b.node("DequantizeLinear", *inputs, axis=axis)


def quantized_convolution(b, x):
    """Activations with a zero point, without one, and two pairs behind one another."""
    zero = numpy.uint8(b.layer % 3 * 64)
    y = pair(b, x, 0.02 + b.layer % 7 * 1e-3, *((zero,) if b.layer % 3 else ()))
    y = b.node("Conv", y, codes(b, (CHANNELS, CHANNELS, 3, 3), 0, b.layer % 2 == 0), pads=[1, 1, 1, 1])
    y = pair(b, b.node("Relu", y), 0.03, numpy.uint8(0))
    if b.layer % 4 == 0: y = pair(b, y, 0.03, numpy.uint8(0))
    return b.node("Add", y, pair(b, x, 0.02, numpy.int8(b.layer % 2 * 9)))


def quantized_product(b, x):
    zero = numpy.uint8(100 + b.layer % 5)
    y = pair(b, x, 0.02, zero)
    branches = [b.node("MatMul", y, codes(b, (WIDTH, WIDTH), 1, b.layer % 2 == k % 2)) for k in range(3)]
    scores = b.node("MatMul", pair(b, branches[0], 0.02, zero), b.node("Transpose", pair(b, branches[1], 0.02, zero), perm=[0, 2, 1]))
    context = b.node("MatMul", pair(b, b.node("Softmax", scores), 1 / 255, numpy.uint8(0)), pair(b, branches[2], 0.02, zero))
    return b.node("Add", context, x)


def ended(words, timeout, out):
    """Exit code, seconds, peak memory in MB."""
    begin = time.monotonic()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, out / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    process = os.posix_spawn(words[0], words, os.environ, file_actions=quiet)
    alarm = threading.Timer(timeout, os.kill, (process, 9))
    alarm.start()
    _, status, usage = os.wait4(process, 0)
    alarm.cancel()
    return os.waitstatus_to_exitcode(status), time.monotonic() - begin, usage.ru_maxrss / 1024


MODELS = {"conv": ([1, CHANNELS, SIDE, SIDE], {"float": convolution, "coded": quantized_convolution}),
          "transformer": ([1, TOKENS, WIDTH], {"float": transformer, "coded": quantized_product})}
COMMANDS = [("float", "simplify"), ("float", "quantize --mode dynamic --target onnxruntime"),
            ("float", "quantize --data DATA --batch 1 --target onnxruntime"),
            ("float", "quantize --data DATA --batch 1 --target tensorrt-10"),
            ("coded", "repair --partial --target tensorrt-10"), ("coded", "repair --partial --target onnxruntime")]


def make(folder, sizes):
    for name, (shape, blocks) in MODELS.items():
        for kind, block in blocks.items():
            for nodes in sizes:
                onnx.save(Builder(nodes).model(shape, block), folder / f"{kind}-{name}-{nodes}.onnx")
        numpy.save(folder / f"{name}.npy", numpy.random.default_rng(1).normal(0, 1, [2] + shape[1:]).astype(numpy.float32))


def main():
    octet, *rest = sys.argv[1:]
    small, large, timeout = map(int, rest + ["10000", "50000", "600"][len(rest):])
    missed = False
    print(f"| model | command | s, {small} nodes | s, {large} nodes | ratio | MB | MB |\n|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        # In another process: what one starts has the memory of who started it in its peak.
        maker = multiprocessing.Process(target=make, args=(folder, (small, large)))
        maker.start()
        maker.join()
        for name in MODELS:
            for kind, words in COMMANDS:
                seconds, peaks = [], []
                for nodes in (small, large):
                    command, *options = words.replace("DATA", f"npy:x={folder}/{name}.npy").split()
                    call = [octet, command, str(folder / f"{kind}-{name}-{nodes}.onnx"), "-o", str(folder / "out.onnx"),
                            "--force", "--threads", "1", *options]
                    code, took, peak = ended(call, timeout, folder)
                    seconds.append(took if code in (0, 1) else float("nan"))
                    peaks.append(peak)
                    if code not in (0, 1): print(f"exit {code}: {' '.join(call)}", file=sys.stderr, flush=True)
                ratio = seconds[1] / seconds[0]
                missed |= not ratio <= 6
                print(f"| {name} | {words} | {seconds[0]:.2f} | {seconds[1]:.2f} | {ratio:.1f} "
                      f"| {peaks[0]:.0f} | {peaks[1]:.0f} |", flush=True)
    sys.exit(missed)


main()
