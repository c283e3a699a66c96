# SPDX-License-Identifier: Apache-2.0
"""Declared types that are not what is computed, bodies, and shapes that depend on data: both executors give what ONNX
Runtime gives, simplified and quantized files too, and check says what it refuses and what it warns of."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

OCTET = str(pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet")
rng = np.random.default_rng(5)
info = helper.make_tensor_value_info
node = helper.make_node
F, I64, I8, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT8, TensorProto.BOOL
W = rng.normal(size=(8, 8)).astype(np.float32)


def graph(nodes, inputs, outputs, declared=(), constants=(), name="g"):
    return helper.make_graph(nodes, name, inputs, outputs, list(constants), value_info=list(declared))


def constant(name, values):
    return onnx.numpy_helper.from_array(np.asarray(values), name)


def wrong_types(name, shape, element=F):
    """A size, a rank, and an element type that are not the value's."""
    yield info(name, element, [shape[0] + 1, *shape[1:]]), False
    yield info(name, element, [*shape, 1]), False
    yield info(name, element, []), False
    yield info(name, I8, shape), True


def declared():
    """Models, feeds, and whether an element type is wrong."""
    x = rng.normal(size=(4, 8)).astype(np.float32)
    w = constant("w", W)
    layers = [node("MatMul", ["x", "w"], ["p"]), node("Relu", ["p"], ["r"]), node("MatMul", ["r", "w"], ["y"])]
    for wrong, of_type in wrong_types("y", [4, 8]):
        yield graph(layers, [info("x", F, [4, 8])], [wrong], constants=[w]), {"x": x}, of_type
    for value in "pr":
        for wrong, of_type in wrong_types(value, [4, 8]):
            outputs = [info("y", F, None)]
            yield graph(layers, [info("x", F, [4, 8])], outputs, [wrong], [w]), {"x": x}, of_type
    # What the declared size would be folded into.
    shape_of = layers + [node("Shape", ["r"], ["s"]), node("Reshape", ["y", "s"], ["z"])]
    for wrong in (info("r", F, [5, 8]), info("r", F, [1, 8]), info("r", F, [4, 8, 1])):
        yield graph(shape_of, [info("x", F, [4, 8])], [info("z", F, None)], [wrong], [w]), {"x": x}, False
    # In bodies.
    for wrong, of_type in wrong_types("t", [4, 8]):
        branch = graph([node("Relu", ["x"], ["t"]), node("Neg", ["t"], ["u"])], [], [info("u", F, None)], [wrong])
        condition = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
        yield (graph([condition], [info("c", BOOL, []), info("x", F, [4, 8])], [info("y", F, None)]),
               {"c": np.array(True), "x": x}, of_type)
    for carried in ([1, 8], [5, 8]):
        body = graph([node("Identity", ["d"], ["e"]), node("MatMul", ["v", "w"], ["o"])],
                     [info("i", I64, []), info("d", BOOL, []), info("v", F, carried)],
                     [info("e", BOOL, []), info("o", F, carried)])
        loop = node("Loop", ["n", "", "x"], ["y"], body=body)
        yield (graph([loop], [info("n", I64, []), info("x", F, [4, 8])], [info("y", F, None)], constants=[w]),
               {"n": np.array(3), "x": x}, False)
    # Only the data shows it. (ONNX Runtime folds a Shape of such a value into what is declared.)
    picked = [node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["f"], to=F), node("Relu", ["f"], ["y"])]
    yield (graph(picked, [info("x", F, [4, 8])], [info("y", F, [2, 7])], [info("n", I64, [2, 7])]),
           {"x": np.where(x > 0, x, 0)}, False)


def run(*arguments):
    return subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True)


def differences(model, feeds, of_type, folder):
    path = folder / "model.onnx"
    onnx.save(model, path)
    np.savez(folder / "in.npz", **feeds)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    names = [o.name for o in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        want = session.run(None, feeds)
    except Exception as error:  # what it raises is of no class that it documents
        want = None
        if "Type Error" not in str(error):
            yield f"ONNX Runtime: {error}"
    if (want is None) != of_type:
        yield f"ONNX Runtime {'refuses' if want is None else 'takes'} it"
    found = {f["rule"] for f in json.loads(run("check", path, "--target", "onnxruntime", "--json").stdout)["findings"]}
    if ("declared-type" in found) != of_type:
        yield f"check finds {found}"
    simplified = folder / "simplified.onnx"
    made = run("simplify", path, "-o", simplified, "--force")
    if made.returncode != 0:
        yield f"simplify: {made.stderr.strip()}"
        return
    operators = {n.op_type for n in model.graph.node}
    if "Loop" not in operators and run("inspect", simplified, "--strict").returncode != 0:
        yield "the simplified file still declares something else"
    for of, executor in ((path, "native"), (path, "reference"), (simplified, "native")):
        ran = run("run", of, "--inputs", folder / "in.npz", "-o", folder / "out.npz", "--force", "--executor", executor,
                  "--threads", "1")
        if ran.returncode != 0:
            yield f"{of.name} {executor}: {ran.stderr.strip()}"
            continue
        with np.load(folder / "out.npz") as got:
            for name, value in zip(names, want or []):
                if got[name].shape != value.shape or got[name].dtype != value.dtype:
                    yield f"{of.name} {executor}: {name} is {got[name].dtype}{got[name].shape}, " \
                          f"not {value.dtype}{value.shape}"
                elif not np.allclose(got[name], value, 1e-4, 1e-4):
                    yield f"{of.name} {executor}: {name} differs"
    if "MatMul" not in operators:
        return
    quantized = run("quantize", path, "--mode", "weight-only", "-o", folder / "small.onnx", "--force")
    if quantized.returncode != 0:
        yield f"quantize: {quantized.stderr.strip()}"


def main():
    ran, failures = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        for one, feeds, of_type in declared():
            ran += 1
            model = helper.make_model(one, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
            failures += [f"model {ran}: {d}" for d in differences(model, feeds, of_type, pathlib.Path(temporary))]
    print("\n".join(failures))
    print(f"{ran} models, {len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
