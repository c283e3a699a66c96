# SPDX-License-Identifier: Apache-2.0
"""A product in every format of weights and activations: what quantize, check, explain and certify call it, against names that
stand here; and of ONNX Runtime what its optimized graph runs."""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from qdq import octet

# Weights, activations, and the product's precision on octet, ONNX Runtime and TensorRT 10; "-": the target does not take them.
BYTES = ("int8", "uint8")
FP8 = ("fp8-e4m3fn", "fp8-e4m3fnuz", "fp8-e5m2", "fp8-e5m2fnuz")
ROWS = [
    ("int8", "int8", "int8", "int8", "int8"), ("int8", "uint8", "int8", "int8", "-"), ("uint8", "uint8", "int8", "int8", "-"),
    ("int8", "float", "float", "float", "float"), ("uint8", "float", "float", "float", "-"),
    ("int8/16", "float", "float", "float", "-"), ("int8/16", "uint8", "float", "float", "-"),
    ("fp8-e4m3fn", "fp8-e4m3fn", "float", "float", "fp8"), ("fp8-e4m3fn", "float", "float", "float", "float"),
    ("fp8-e4m3fn/16", "float", "float", "float", "float"), ("int4", "float", "float", "float", "float"),
    ("int4/16", "float", "float", "float", "float"),
    *((w, a, "float", "float", "-") for w in ("int16", "uint16") for a in (w, "float", "uint8")),
    *((w, a, "int8", "float", "-") for w in ("int4", "uint4", "int2", "uint2") for a in ("int4", "uint4", "uint8")),
    *((w, "uint16", "float", "float", "-") for w in ("int4", "uint4", "int2", "uint2")),
    *((w, "float", "float", "float", "-") for w in ("uint4", "int2", "uint2", *FP8[1:])),
    *((w, a, "float", "float", "-") for w in FP8[1:] for a in (w, "uint8", "int16")),
    *((w, a, "float", "-", "-") for w in ("mxfp8-e4m3", "mxfp4", "nvfp4") for a in ("float", "uint8")),
]
TARGETS = ("octet", "onnxruntime", "tensorrt-10")
INTEGER = ("MatMulIntegerToFloat", "QLinearMatMul", "QGemm")


def runs_there(path, folder):
    """The operator that ONNX Runtime makes of the product."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.optimized_model_filepath = 4, str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return next(n.op_type for n in onnx.load(folder / "optimized.onnx").graph.node if n.op_type in (*INTEGER, "MatMul", "MatMulNBits"))


def certify_faults(title, path, weights, activations, data):
    """Only int8 weights and codes of 8 bits are products of 8 bits, which can saturate; uint8 on both sides is exact. For ONNX
    Runtime a weight in blocks is kept apart from its product."""
    said = octet("certify", path, "--data", f"npz:{data}")
    listed = any(line.startswith("product ") for line in said.stdout.splitlines())
    bytes_in = weights == "int8" or (weights == "int8/16" and "onnxruntime" not in title)
    if listed != (bytes_in and activations in BYTES):
        return [f"{title}: certify: {said.stdout[:300]}"]
    return []


def faults(folder, weights, activations, target, expected):
    title, path, data = f"{weights} x {activations} for {target}", folder / "q.onnx", folder / "data.npz"
    done = octet("quantize", folder / "float.onnx", "--data", f"npz:{data}", "--target", target, "--weights", weights,
                 "--activations", activations, "-o", path, "--force", "--explain")
    if expected == "-":
        wanted = [weights, activations]
        ok = done.returncode == 2 and any(f"in {name}" in done.stderr for name in wanted)
        return [] if ok else [f"{title}: exit {done.returncode}, {done.stderr[:200]}"]
    if done.returncode != 0:
        return [f"{title}: exit {done.returncode}, {done.stderr[:200]}"]
    found = []
    plan = next(line for line in done.stdout.splitlines() if "product" in line)
    bytes_alone = weights in BYTES and activations in BYTES
    named = [weights] + ([activations] if activations != "float" else [])
    summary = done.stdout[done.stdout.index(" nodes in "):].split(" for ")[0]
    if not bytes_alone and not all(name in summary or (name in BYTES and "8 bits" in summary) for name in named):
        found.append(f"{title}: quantize says {summary!r}; the plan {plan!r}")
    if octet("check", path, "--target", target).returncode != 0:
        found.append(f"{title}: check refuses what was written for it")
    layers = json.loads(octet("explain", path, "--target", target, "--json").stdout)[target]["layers"]
    layer = next(layer for layer in layers if layer["node"] == "product")
    if layer["precision"] != expected:
        found.append(f"{title}: explain says {layer['precision']} ({layer['form']})")
    if target == "onnxruntime":
        there = runs_there(path, folder)
        if there != layer["form"] or (there in INTEGER) != (expected == "int8"):
            found.append(f"{title}: explain says {layer['form']}, ONNX Runtime runs {there}")
    return found + certify_faults(title, path, weights, activations, data)


def odd_int4(folder, random):
    """TensorRT takes int4 in an even number."""
    found = []
    for shape, target, taken in (((5, 3), "tensorrt-11", False), ((4, 3), "tensorrt-11", True), ((5, 3), "tensorrt-10.10", False),
                                 ((5, 3), "onnxruntime", True)):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
        graph = helper.make_graph(nodes, "model", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, shape[0]])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(random.normal(size=shape).astype(np.float32), "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "odd.onnx")
        call = ("quantize", folder / "odd.onnx", "--mode", "weight-only", "--target", target, "-o", folder / "q.onnx", "--force")
        done = octet(*call, "--weights", "int4")
        if done.returncode != (0 if taken else 2) or (not taken and "an even number of elements" not in done.stderr):
            found.append(f"int4 {shape} for {target}: exit {done.returncode}, {done.stderr[:200]}")
        if octet(*call, "--weights", "int8").returncode != 0:
            found.append(f"int8 {shape} for {target}: not written")
    return found


def main():
    random = np.random.default_rng(11)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], name="product"), helper.make_node("Tanh", ["m"], ["y"])]
    graph = helper.make_graph(nodes, "model", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(random.normal(size=(64, 32)).astype(np.float32), "w")])
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "float.onnx")
        np.savez(folder / "data.npz", x=random.normal(size=(16, 64)).astype(np.float32))
        found = odd_int4(folder, random)
        for weights, activations, *expected in ROWS:
            for target, precision in zip(TARGETS, expected):
                count += 1
                found += faults(folder, weights, activations, target, precision)
    print(f"{count} products, {len(found)} faults")
    print("\n".join(found[:40]))
    return 1 if found or count < 150 else 0


sys.exit(main())
