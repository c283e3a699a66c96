# SPDX-License-Identifier: Apache-2.0
"""octet debug with two models beside ONNX Runtime and numpy: errors of every tensor and weight, of the outputs with one
layer quantized alone, and the layer that was spoiled comes first with the change that mends it."""
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from exact_products import with_exact_products

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
EXAMPLES = 24
random = np.random.default_rng(7)


def network():
    """Two convolutions, a pool, a sum and two products."""
    def weight(name, shape, by=0.3):
        return numpy_helper.from_array((random.standard_normal(shape) * by).astype(np.float32), name)

    def node(op, inputs, outputs, **attributes):
        return helper.make_node(op, inputs, outputs, name=outputs[0] + "_node", **attributes)

    nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]), node("Relu", ["c1"], ["r1"]),
             node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["p1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1]), node("Relu", ["c2"], ["r2"]),
             node("GlobalAveragePool", ["r2"], ["g"]), node("Flatten", ["g"], ["f"]),
             node("Gemm", ["f", "w3", "b3"], ["h"]), node("Relu", ["h"], ["r3"]),
             node("MatMul", ["r3", "w4"], ["y"])]
    weights = [weight("w1", (8, 3, 3, 3)), weight("b1", (8,)), weight("w2", (16, 8, 3, 3), 0.15), weight("b2", (16,)),
               weight("w3", (16, 12)), weight("b3", (12,)), weight("w4", (12, 5))]
    graph = helper.make_graph(nodes, "net",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 3, 12, 12))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("N", 5))], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def run(arguments, status=0):
    done = subprocess.run([str(OCTET), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"octet {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def values_of(model, names, x):
    """Values of a model by ONNX Runtime, node by node as the file says."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {output.name for output in copy.graph.output}
    for name in names:
        if name not in known:
            copy.graph.output.append(helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    data = with_exact_products(copy).SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(list(names), {"x": x})))


def sqnr(wanted, got):
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    noise = np.sum((wanted - got) ** 2)
    return 10 * np.log10(np.sum(wanted ** 2) / noise) if noise > 0 else 200.0


def near(what, got, wanted, tolerance):
    if abs(got - wanted) > tolerance:
        sys.exit(f"{what}: {got}, not {wanted}")


class Quantized:
    """Scales and codes of a Q/DQ file, by the float values that they stand for."""

    def __init__(self, path):
        self.model = onnx.load(path)
        self.constants = {c.name: numpy_helper.to_array(c) for c in self.model.graph.initializer}
        self.made = {output: node for node in self.model.graph.node for output in node.output}
        self.activations, self.weights = {}, {}
        for node in self.model.graph.node:
            if node.op_type == "QuantizeLinear" and node.input[0] not in self.constants:
                name = node.input[0].removesuffix("_float")
                reads = [n for n in self.model.graph.node if n.op_type == "DequantizeLinear" and n.input[0] == node.output[0]]
                self.activations[name] = (self.constants[node.input[1]], self.constants[node.input[2]], reads[0].output[0])
            if node.op_type == "DequantizeLinear":
                codes = self.constants.get(node.input[0])
                maker = self.made.get(node.input[0])
                scale, zero = self.constants[node.input[1]], self.constants[node.input[2]]
                axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
                if maker is not None and maker.input[0] in self.constants:
                    real = self.constants[maker.input[0]]
                    self.weights[maker.input[0]] = dq(q(real, scale, zero, axis), scale, zero, axis)
                elif codes is not None and codes.dtype != np.int32:
                    self.weights[node.input[0]] = dq(codes, scale, zero, axis)

    def weight(self, name):
        found = [w for stored, w in self.weights.items() if stored == name or stored.startswith(name + "_")]
        assert len(found) == 1, (name, list(self.weights))
        return found[0]


def along(scale, rank, axis):
    return scale.reshape([-1 if i == axis else 1 for i in range(rank)]) if scale.size > 1 else scale.reshape(())


def q(x, scale, zero, axis=0):
    info = np.iinfo(zero.dtype)
    codes = np.rint(x / along(scale, x.ndim, axis)) + along(zero.astype(np.float64), x.ndim, axis)
    return np.clip(codes, info.min, info.max).astype(zero.dtype)


def dq(codes, scale, zero, axis=0):
    return ((codes.astype(np.float32) - along(zero.astype(np.float32), codes.ndim, axis)) *
            along(scale, codes.ndim, axis)).astype(np.float32)


def check_tensors(model, path, found, x):
    quantized = Quantized(path)
    tensors = {t["value"]: t for t in found["tensors"]}
    names = [v for v in quantized.activations if v != "x"]
    floats = values_of(model, names + ["y"], x) | {"x": x}
    codes = values_of(quantized.model, [quantized.activations[v][2] for v in quantized.activations], x)
    outputs = values_of(quantized.model, ["y"], x)
    assert set(quantized.activations) <= set(tensors), (set(quantized.activations) - set(tensors), path)
    for value, (scale, zero, real) in quantized.activations.items():
        wanted, got, said = floats[value], codes[real], tensors[value]
        info = np.iinfo(zero.dtype)
        beyond = np.rint(wanted / scale) + zero.astype(np.float64)
        near(f"{value} SQNR", said["sqnr_db"], sqnr(wanted, got), 0.1)
        near(f"{value} alone", said["sqnr_alone_db"], sqnr(wanted, dq(q(wanted, scale, zero), scale, zero)), 0.01)
        near(f"{value} cosine", said["cosine"],
             np.vdot(wanted, got) / (np.linalg.norm(wanted) * np.linalg.norm(got)), 1e-4)
        near(f"{value} largest error", said["max_error"], np.abs(wanted - got).max(), 1.01 * float(scale))
        near(f"{value} saturated", said["saturated"], np.mean((beyond < info.min) | (beyond > info.max)), 1e-3)
        assert said["elements"] == wanted.size
        axis = tuple(i for i in range(wanted.ndim) if i != (1 if wanted.ndim == 4 else wanted.ndim - 1))
        largest = np.abs(wanted).max(axis=axis)
        if largest.size >= 4:
            assert said["channels"][0]["channel"] == int(np.argmax(largest))
            near(f"{value} channel", said["channels"][0]["magnitude"], largest.max(), 1e-4 * largest.max())
    for name in ("w1", "w2", "w3", "w4"):
        wanted = numpy_helper.to_array(next(w for w in model.graph.initializer if w.name == name))
        near(f"{name} SQNR", tensors[name]["sqnr_db"], sqnr(wanted, quantized.weight(name)), 0.01)
        near(f"{name} alone", tensors[name]["sqnr_alone_db"], sqnr(wanted, quantized.weight(name)), 0.01)
    near("outputs", found["output"]["sqnr_db"], sqnr(floats["y"], outputs["y"]), 0.2)
    assert not found["unmatched"], found["unmatched"]
    return quantized, floats


def check_alone(model, quantized, found, x, floats):
    """A layer alone: the tensors that are said to be its own on their grids, in the float model."""
    assert len(found["ranking"]) >= 4, found["ranking"]
    for said in found["ranking"]:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        codes = []
        for value in said["tensors"]:
            if value in quantized.activations:
                scale, zero, _ = quantized.activations[value]
                name = value + "_coded"
                copy.graph.initializer.extend([numpy_helper.from_array(scale, name + "_scale"),
                                               numpy_helper.from_array(zero, name + "_zero")])
                for node in copy.graph.node:
                    for i, read in enumerate(node.input):
                        if read == value:
                            node.input[i] = name
                codes.append((value, name))
            else:
                old = next(w for w in copy.graph.initializer if w.name == value)
                old.CopyFrom(numpy_helper.from_array(quantized.weight(value), value))
        for value, name in codes:
            at = next((i + 1 for i, n in enumerate(copy.graph.node) if value in n.output), 0)
            copy.graph.node.insert(at, helper.make_node("QuantizeLinear", [value, name + "_scale", name + "_zero"], [name + "_q"]))
            copy.graph.node.insert(at + 1, helper.make_node("DequantizeLinear", [name + "_q", name + "_scale", name + "_zero"], [name]))
        last = "y_coded" if ("y", "y_coded") in codes else "y"
        alone = values_of(copy, [last], x)[last]
        near(f"{said['node']} alone", -said["damage_db"], sqnr(floats["y"], alone), 0.3)


def spoil(path, to, change):
    """The file with other scales."""
    model = onnx.load(path)
    constants = {c.name: c for c in model.graph.initializer}
    change(model, constants)
    onnx.save(model, to)


def times(constant, factor):
    constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant) * np.float32(factor), constant.name))


def own_scale(model, constants, node, factor):
    """A scale of its own for one Q or DQ and those of the same tensor."""
    scale = numpy_helper.to_array(constants[node.input[1]]) * np.float32(factor)
    name = node.output[0] + "_scale"
    model.graph.initializer.append(numpy_helper.from_array(scale, name))
    codes = node.output[0] if node.op_type == "QuantizeLinear" else node.input[0]
    for other in model.graph.node:
        if codes in (other.input[0], other.output[0]) and other.op_type in ("QuantizeLinear", "DequantizeLinear"):
            other.input[1] = name


def applied_for_a_target():
    """What --apply writes is what the target loads, as quantize writes it by the plan: a product with blocks keeps its Q/DQ apart."""
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "v"], ["y"], name="product")], "net",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 32))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("N", 8))],
                              [numpy_helper.from_array(random.standard_normal((32, 8)).astype(np.float32), "v")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), "blocks.onnx")
    np.savez("rows.npz", x=random.standard_normal((64, 32)).astype(np.float32))
    run(["quantize", "blocks.onnx", "--data", "npz:rows.npz", "--target", "onnxruntime", "--weights", "int8/16", "--calibrator", "percentile:60",
         "-o", "clipped.onnx", "--save-plan", "clipped.json"])
    run(["debug", "blocks.onnx", "clipped.onnx", "--plan", "clipped.json", "--data", "npz:rows.npz", "--apply", "-o", "loaded.onnx",
         "--save-plan", "loaded.json"])
    run(["check", "loaded.onnx", "--target", "onnxruntime"])
    onnxruntime.InferenceSession("loaded.onnx", providers=["CPUExecutionProvider"])
    run(["quantize", "blocks.onnx", "--plan", "loaded.json", "-o", "planned.onnx"])
    assert [n.op_type for n in onnx.load("planned.onnx").graph.node] == [n.op_type for n in onnx.load("loaded.onnx").graph.node]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chdir(folder)
        model = network()
        onnx.save(model, "f.onnx")
        train = random.standard_normal((64, 3, 12, 12)).astype(np.float32)
        test = random.standard_normal((EXAMPLES, 3, 12, 12)).astype(np.float32)
        np.savez("d.npz", x_train=train, x_test=test)
        data = ["--data", "npz:d.npz"]
        for target in ("octet", "onnxruntime", "tensorrt-10"):
            for more in ([], ["--per-tensor"]):
                run(["quantize", "f.onnx", *data, "--calibrator", "min-max", "--target", target, *more, "--force",
                     "-o", "q.onnx"])
                found = json.loads(run(["debug", "f.onnx", "q.onnx", *data, "--remedies", 0, "--batch", 5, "--json"]))
                assert found["plan"]["makes_the_file"], (target, found["plan"])
                assert found["examples"] == EXAMPLES
                quantized, floats = check_tensors(model, "q.onnx", found, test)
                check_alone(model, quantized, found, test, floats)

        # QOperator is read as Q/DQ.
        run(["quantize", "f.onnx", *data, "--calibrator", "min-max", "--form", "qoperator", "--force", "-o", "q.onnx"])
        found = json.loads(run(["debug", "f.onnx", "q.onnx", *data, "--remedies", 0, "--json"]))
        out = values_of(onnx.load("q.onnx"), ["y"], test)["y"]
        near("QOperator", found["output"]["sqnr_db"], sqnr(values_of(model, ["y"], test)["y"], out), 0.5)
        assert sum(t["kind"] == "weight" for t in found["tensors"]) == 4, found["tensors"]

        # A layer that was spoiled is named first, with what mends it.
        run(["quantize", "f.onnx", *data, "--calibrator", "min-max", "--force", "-o", "q.onnx"])

        def wide_activation(graph, constants):
            node = next(n for n in graph.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == "r2")
            own_scale(graph, constants, node, 64)

        def wide_weight(graph, constants):
            node = next(n for n in graph.graph.node if n.op_type == "DequantizeLinear" and n.input[0].startswith("w2"))
            codes, scale = constants[node.input[0]], numpy_helper.to_array(constants[node.input[1]])
            coarse = np.rint(numpy_helper.to_array(codes) / 16.0).astype(np.int8)
            codes.CopyFrom(numpy_helper.from_array(coarse, codes.name))
            graph.graph.initializer.append(numpy_helper.from_array(scale * np.float32(16), "coarse_scale"))
            node.input[1] = "coarse_scale"

        for change, layer, remedies in ((wide_activation, "c2_node", {"calibrator"}),
                                        (wide_weight, "c2_node", {"weight-calibrator", "more-bits"})):
            spoil("q.onnx", "spoiled.onnx", change)
            before = json.loads(run(["debug", "f.onnx", "spoiled.onnx", *data, "--json"]))
            first = before["ranking"][0]
            assert first["node"] == layer, [(r["node"], r["damage_db"]) for r in before["ranking"]]
            assert first["remedy"] in remedies, first
            assert first["predicted_gain_db"] > 3, first
            after = json.loads(run(["debug", "f.onnx", "spoiled.onnx", *data, "--apply", "-o", "better.onnx", "--force",
                                    "--json"]))
            assert after["applied"]["file"] == "better.onnx", after["applied"]
            y = values_of(model, ["y"], test)["y"]
            gained = (sqnr(y, values_of(onnx.load("better.onnx"), ["y"], test)["y"]) -
                      sqnr(y, values_of(onnx.load("spoiled.onnx"), ["y"], test)["y"]))
            assert gained > 3, gained
            near("the gain", gained, after["applied"]["sqnr_db"] - after["applied"]["sqnr_db_before"], 0.5)

        # Channels of one weight that are far larger, with one scale: a scale for each channel.
        for initializer in model.graph.initializer:
            if initializer.name == "w2":
                weight = numpy_helper.to_array(initializer).copy()
                weight[3] *= 60
                initializer.CopyFrom(numpy_helper.from_array(weight, "w2"))
        onnx.save(model, "f.onnx")
        run(["quantize", "f.onnx", *data, "--calibrator", "min-max", "--per-tensor", "--target", "tensorrt-10", "--force",
             "-o", "q.onnx"])
        found = json.loads(run(["debug", "f.onnx", "q.onnx", *data, "--json"]))
        tried = {t["remedy"] for r in found["ranking"] if r["node"] == "c2_node" for t in r["tried"]}
        assert "per-channel" in tried, found["ranking"]
        weight = next(t for t in found["tensors"] if t["value"] == "w2")
        assert weight["channels"][0]["channel"] == 3 and weight["channels"][0]["ratio"] > 20, weight
        applied_for_a_target()


if __name__ == "__main__":
    main()
