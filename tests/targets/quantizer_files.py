# SPDX-License-Identifier: Apache-2.0
"""Files as ONNX Runtime's quantizer writes them, taken in: check refuses them for TensorRT 10 with the rule that is meant,
repair's file is accepted, and in ONNX Runtime it is nearer to the file as it came than that file is to the float model
(twice as far where weights or 16-bit codes are coded anew). octet runs the repaired file like ONNX Runtime."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization import QuantFormat, QuantType

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
TARGET = "tensorrt-10"
random = np.random.default_rng(3)


def constant(name, *shape, by=1.0):
    fan = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
    return numpy_helper.from_array((by * random.normal(size=shape) / np.sqrt(fan)).astype(np.float32), name)


def model(nodes, weights, x, y):
    graph = helper.make_graph(nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name=output, **attributes)


def images():
    nodes = [node("Conv", "x k1 b1", "c1", pads=[1, 1, 1, 1]), node("Relu", "c1", "r1"),
             node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", "p1 k2 b2", "c2", pads=[1, 1, 1, 1]), node("Relu", "c2", "r2"),
             node("GlobalAveragePool", "r2", "g"), node("Flatten", "g", "f"), node("Gemm", "f w v", "y")]
    weights = [constant("k1", 8, 3, 3, 3), constant("b1", 8), constant("k2", 16, 8, 3, 3), constant("b2", 16),
               constant("w", 16, 10), constant("v", 10)]
    return model(nodes, weights, ["N", 3, 16, 16], ["N", 10])


def encoder():
    """A feed-forward block with erf's GELU, its residual sum and layer normalization, then a classifier."""
    nodes = [node("MatMul", "x w1", "m1"), node("Add", "m1 b1", "a1"), node("Div", "a1 root", "d"), node("Erf", "d", "e"),
             node("Add", "e one", "e1"), node("Mul", "a1 e1", "g"), node("Mul", "g half", "h"), node("MatMul", "h w2", "m2"),
             node("Add", "m2 b2", "a2"), node("Add", "a2 x", "s"), node("LayerNormalization", "s scale beta", "l", axis=-1),
             node("ReduceMean", "l", "pool", axes=[1], keepdims=0), node("Gemm", "pool w3 b3", "y")]
    scalars = [numpy_helper.from_array(np.float32(v), n) for n, v in (("root", np.sqrt(2)), ("one", 1), ("half", 0.5))]
    weights = [constant("w1", 32, 64), constant("b1", 64), constant("w2", 64, 32), constant("b2", 32),
               constant("scale", 32), constant("beta", 32), constant("w3", 32, 6), constant("b3", 6), *scalars]
    return model(nodes, weights, ["N", 12, 32], ["N", 6])


NETWORKS = {"images": (images, (3, 16, 16)), "encoder": (encoder, (12, 32))}


class Batches(quantization.CalibrationDataReader):
    def __init__(self, x):
        self.batches = iter([{"x": x[at:at + 8]} for at in range(0, len(x), 8)])

    def get_next(self):
        return next(self.batches, None)


def static(**options):
    return lambda source, path, x: quantization.quantize_static(source, path, Batches(x), **options)


# What the quantizer is asked for, a rule of TensorRT that its file breaks, and how far repair may move the outputs as a
# part of what the quantizer lost.
FORMS = {
    "defaults": (static(), "zero-point-not-zero", 1),
    "uint8 activations per channel": (static(per_channel=True, activation_type=QuantType.QUInt8), "zero-point-uint8", 1),
    "codes of 7 bits": (static(reduce_range=True, activation_type=QuantType.QUInt8), "zero-point-uint8", 1),
    "symmetric": (static(extra_options={"ActivationSymmetric": True}), "int32-dequantize", 1),
    "16-bit activations": (static(activation_type=QuantType.QInt16, extra_options={"UseQDQContribOps": True}), "format", 2),
    "QOperator": (static(quant_format=QuantFormat.QOperator), "integer-operator", 1),
    "QOperator of uint8": (static(quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8,
                                  weight_type=QuantType.QUInt8), "integer-operator", 2),
    "dynamic": (lambda source, path, x: quantization.quantize_dynamic(source, path), "integer-operator", 1),
}


def octet(*words, answers=(0,)):
    done = subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in answers:
        raise RuntimeError(f"octet {words[0]}: exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()[-800:]}")
    return done.stdout


def theirs(path, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def ours(path, x, folder):
    np.savez(folder / "in.npz", x=x)
    octet("run", path, "--inputs", folder / "in.npz", "-o", folder / "out.npz", "--force")
    with np.load(folder / "out.npz") as outputs:
        return outputs["y"]


def apart(a, b):
    return float(np.sqrt(np.square(a.astype(np.float64) - b).mean()))


def take_in(folder, network, quantize, rule, factor):
    build, shape = NETWORKS[network]
    source, came, fixed = folder / "float.onnx", folder / "came.onnx", folder / "fixed.onnx"
    onnx.save(build(), source)
    x = random.normal(size=(64, *shape)).astype(np.float32)
    np.save(folder / "x.npy", x)
    quantize(source, came, x)
    found = json.loads(octet("check", came, "--target", TARGET, "--json", answers=(0, 1)))
    rules = {f["rule"] for f in found["findings"] if f["severity"] == "error"}
    if rule not in rules:
        raise RuntimeError(f"check does not find {rule} but {sorted(rules)}")
    octet("repair", came, "--target", TARGET, "--data", f"npy:x={folder / 'x.npy'}", "-o", fixed, "--force")
    octet("check", fixed, "--target", TARGET)
    floats, before, after = theirs(source, x), theirs(came, x), theirs(fixed, x)
    lost, moved = apart(before, floats), apart(after, before)
    same = apart(ours(fixed, x, folder), after)
    if moved > factor * lost or same > lost / 4:
        raise RuntimeError(f"repair moved the outputs by {moved:.2e}, octet by {same:.2e}, the quantizer by {lost:.2e}")
    return f"repair moves the outputs by {moved:.2e}, octet by {same:.2e}, the quantizer by {lost:.2e}"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for network in NETWORKS:
            for form, asked in FORMS.items():
                try:
                    answer = take_in(pathlib.Path(folder), network, *asked)
                except RuntimeError as error:
                    answer = f"FAILED: {error}"
                    failed += 1
                print(f"{network}, {form}: {answer}", flush=True)
    return 1 if failed else 0


sys.exit(main())
