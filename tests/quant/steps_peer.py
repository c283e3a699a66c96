# SPDX-License-Identifier: Apache-2.0
"""Files whose plans have steps beside ONNX Runtime: chosen codes on other data and in every format that it takes, outlier channels
in products of their own for every target."""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import numpy as np
import onnx
import qdq
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(12)
K, N, M = 80, 64, 10
BIG = [7, 50]


def network(path):
    """Inputs of which two channels are made large, two products, a bias and a Relu between them."""
    gain = np.ones(K, np.float32)
    gain[BIG] = 70
    nodes = [helper.make_node("Mul", ["x", "gain"], ["m"], name="enlarged"), helper.make_node("MatMul", ["m", "w1"], ["h"], name="first"),
             helper.make_node("Add", ["h", "b1"], ["hb"], name="bias"), helper.make_node("Relu", ["hb"], ["r"], name="relu"),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], name="second", transB=1)]
    w1 = random.normal(size=(K, N)) / np.sqrt(K)
    w1[BIG] /= 70
    constants = {"gain": gain, "w1": w1, "b1": random.normal(size=N), "w2": random.normal(size=(M, N)) / np.sqrt(N), "b2": random.normal(size=M)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", K])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", M])],
                              [numpy_helper.from_array(v.astype(np.float32), name) for name, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def rows(count):
    """Rows whose neighbours depend on one another."""
    x = random.normal(size=(count, K))
    return (x + 1.5 * np.roll(x, 1, axis=1)).astype(np.float32)


def error(path, x, exact):
    out, problem = qdq.onnxruntime_runs(path, x)
    assert problem is None, problem
    return np.sqrt(np.mean((out - exact) ** 2))


def quantize(model, out, *words):
    done = qdq.octet("quantize", model, "-o", out, "--force", "--json", *words)
    assert done.returncode == 0, (words, done.stderr)
    onnx.checker.check_model(str(out), full_check=True)
    return json.loads(done.stdout)


def check_chosen_codes(folder, model, data, x, exact):
    for form in ("int4", "int4/16", "int4/32", "uint4/32", "int8/32", "fp8-e4m3fn", "fp8-e5m2"):
        words = ["--mode", "weight-only", "--weights", form, "--target", "onnxruntime", *data]
        quantize(model, folder / "plain.onnx", *words)
        before = error(folder / "plain.onnx", x, exact)
        for steps in ("gptq", "adaround", "seq-mse", "seq-mse,gptq", "reconstruct"):
            if (form.startswith("fp8") and steps.startswith("seq")) or (steps == "reconstruct" and form not in ("int4", "int4/16", "fp8-e4m3fn")):
                continue
            quantize(model, folder / "chosen.onnx", *words, "--steps", steps, "--save-plan", folder / "plan.json")
            taken = json.loads((folder / "plan.json").read_text()).get("steps", [])
            after = error(folder / "chosen.onnx", x, exact)
            # 8 bits in blocks leave scales little to gain.
            if steps == "seq-mse" and not taken:
                assert form == "int8/32", (form, steps)
                continue
            assert taken and after < before, (form, steps, before, after)
            ours, problem = qdq.octet_runs(folder / "chosen.onnx", x, "native")
            assert problem is None, problem
            assert np.sqrt(np.mean((ours - exact) ** 2)) < before, (form, steps)


def check_outliers(folder, model, data, x, exact):
    for target in ("octet", "onnxruntime", "tensorrt-10", "tensorrt-11"):
        words = ["--target", target, "--calibrator", "min-max", *data]
        quantize(model, folder / "plain.onnx", *words)
        before = error(folder / "plain.onnx", x, exact)
        for extra in ([], ["--per-tensor"]):
            quantize(model, folder / "split.onnx", *words, "--steps", "outliers", "--save-plan", folder / "plan.json", *extra)
            steps = json.loads((folder / "plan.json").read_text())["steps"]
            assert [s["id"] for s in steps] == ["outliers/m"] and steps[0]["channels"] == BIG, steps
            after = error(folder / "split.onnx", x, exact)
            assert after < 0.5 * before, (target, extra, before, after)
            checked = qdq.octet("check", folder / "split.onnx", "--target", target)
            assert checked.returncode == 0, (target, checked.stdout, checked.stderr)
            quantize(model, folder / "again.onnx", "--target", target, "--plan", folder / "plan.json")
            assert (folder / "again.onnx").read_bytes() == (folder / "split.onnx").read_bytes(), (target, extra)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "float.onnx"
        network(model)
        np.savez(folder / "data.npz", x=rows(512))
        data = ["--data", f"npz:{folder / 'data.npz'}"]
        x = rows(400)
        exact, problem = qdq.onnxruntime_runs(model, x)
        assert problem is None, problem
        check_chosen_codes(folder, model, data, x, exact)
        check_outliers(folder, model, data, x, exact)
    return 0


sys.exit(main())
