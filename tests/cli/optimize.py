# SPDX-License-Identifier: Apache-2.0
"""octet optimize beside what this script knows of its networks: which layer ruins codes, what NumPy computes, what ONNX
Runtime makes of the files; and what a search leaves that is killed at random moments."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from exact_products import exact_options

OCTET = str(pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet")
FEATURES, CLASSES, EXAMPLES = 16, 5, 1200
LAYERS = 4
BAD = "l2"  # feature 0 of what it reads is always 0, and its weights there are huge


def without_history(path):
    """The file but for what made it: a search, or its plan alone."""
    loaded = onnx.load(path)
    for entry in [p for p in loaded.metadata_props if p.key == "octet.history"]:
        loaded.metadata_props.remove(entry)
    return loaded.SerializeToString()


def weights(seed, bad):
    rng = np.random.default_rng(seed)
    out = []
    for i in range(LAYERS):
        w = rng.normal(size=(FEATURES, CLASSES if i == LAYERS - 1 else FEATURES)).astype(np.float32) / 4
        if i < LAYERS - 1:
            w[:, 0] = 0
        if f"l{i}" == bad:
            w[0, :] = 3000
        out.append(w)
    return out


def model(path, ws):
    nodes, name = [], "x"
    for i, _ in enumerate(ws):
        nodes.append(helper.make_node("MatMul", [name, f"w{i}"], [f"y{i}"], name=f"l{i}"))
        name = f"y{i}"
        if i < len(ws) - 1:
            nodes.append(helper.make_node("Relu", [name], [f"r{i}"], name=f"relu{i}"))
            name = f"r{i}"
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", FEATURES])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", CLASSES])],
                              [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(ws)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def scores(ws, x):
    for i, w in enumerate(ws):
        x = x @ w
        if i < len(ws) - 1:
            x = np.maximum(x, 0)
    return x


def make(folder, bad, labels=True):
    """A network and data of it: what it is sure of is the label."""
    ws = weights(3, bad)
    model(folder / "m.onnx", ws)
    x = np.random.default_rng(5).normal(size=(EXAMPLES, FEATURES)).astype(np.float32)
    x[:, 0] = 0
    arrays = {"x": x}
    if labels:
        arrays["y"] = scores(ws, x).argmax(axis=1).astype(np.int64)
    np.savez(folder / "d.npz", **arrays)
    return x, scores(ws, x)


def run(folder, *arguments, expect=0, output="best.onnx"):
    command = [OCTET, "optimize", "m.onnx", "--data", "npz:d.npz", "-o", output, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == expect, f"{command}: exit {done.returncode}: {done.stderr}{done.stdout}"
    return done


def coded(path):
    """Names of products whose weights are codes."""
    graph = onnx.load(path).graph
    made_by = {out: node.op_type for node in graph.node for out in node.output}
    return {node.name for node in graph.node
            if node.op_type == "MatMul" and made_by.get(node.input[1]) == "DequantizeLinear"}


def onnxruntime_scores(path, x, optimized=True):
    options = exact_options()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def one_layer_ruins_it(folder):
    x, want = make(folder, BAD)
    done = run(folder, "--costs", "model", "--json", "--save-plan", "p.json", "--report", "r.html", "--max-drop", "2")
    out = json.loads(done.stdout)
    for key in ("accuracy_float", "accuracy", "latency_ms_float", "latency_ms", "pareto", "layers"):
        assert key in out, key
    assert out["accuracy_float"] == 1, out["accuracy_float"]
    assert out["accuracy"] >= 0.98 and out["drop"] <= 2, out
    assert out["drop_interval"][0] <= out["drop"] <= out["drop_interval"][1], out
    assert out["latency_ms"] is None and out["kept"] == "quantized", out
    # Its weights are stored in FP8, whose steps grow with the number: no codes of its input are to be had.
    assert (out["float"], out["choices"]) == ([], {BAD: "fp8-weights"}), out
    assert sum(out["examples"].values()) <= EXAMPLES, out["examples"]
    # Its outlier channels stand apart: with them the recipe comes closest.
    assert out["recipe"] == "outliers", out["recipe"]
    assert coded(folder / "best.onnx") == {f"l{i}" for i in range(LAYERS)} | {f"{BAD}_outliers"}
    bad = [node for node in onnx.load(folder / "best.onnx").graph.node if node.name == BAD][0]
    assert not bad.input[0].endswith("dequantized"), bad
    formats = {layer["node"]: layer for layer in out["layers"]}
    assert formats[BAD]["format"] == "fp8-e4m3fn weights" and formats["l0"]["format"] == "int8", formats
    assert formats[BAD]["damage"] > 2 > formats["l0"]["damage"], formats
    # On all examples, by another runtime: what the search promises of those that it did not see.
    right = (onnxruntime_scores(folder / "best.onnx", x).argmax(axis=1) == want.argmax(axis=1)).mean()
    assert right >= 0.97, right
    default = [t for t in out["pareto"] if t["recipe"] == "default" and not t["float"]][0]
    assert not default["holds"] and default["accuracy"] < 0.9, default
    chosen = [t for t in out["pareto"] if t["chosen"]]
    assert len(chosen) == 1 and chosen[0]["choices"] == {BAD: "fp8-weights"} and chosen[0]["holds"], chosen
    page = (folder / "r.html").read_text()
    assert "<svg" in page and BAD in page and page.count("<circle") == len(out["pareto"])
    # The plan is all of it.
    subprocess.run([OCTET, "quantize", "m.onnx", "--plan", "p.json", "-o", "again.onnx"], cwd=folder, check=True,
                   capture_output=True)
    assert without_history(folder / "again.onnx") == without_history(folder / "best.onnx")


def harmless_codes(folder):
    make(folder, None)
    out = json.loads(run(folder, "--costs", "model", "--json", "--max-drop", "5").stdout)
    assert (out["recipe"], out["float"]) == ("default", []), out["recipe"]
    assert coded(folder / "best.onnx") == {f"l{i}" for i in range(LAYERS)}
    # Run again it is done at once, from its journal.
    before = (folder / "best.onnx").read_bytes()
    again = json.loads(run(folder, "--costs", "model", "--json", "--max-drop", "5").stdout)
    assert again["resumed"] == out["trials"] + out["held_out_checks"] + len(out["left_out"]), again["resumed"]
    assert (folder / "best.onnx").read_bytes() == before
    for key in ("accuracy", "drop", "layers", "pareto"):
        assert again[key] == out[key], key


def measured_costs(folder):
    make(folder, None)
    out = json.loads(run(folder, "--json", "--max-drop", "5").stdout)
    assert out["latency_ms_float"] > 0 and out["latency_ms"] > 0, out
    assert all(t["latency_ms"] > 0 for t in out["pareto"])
    if out["kept"] == "float":
        assert coded(folder / "best.onnx") == set()
    else:
        assert out["latency_ms"] < 0.98 * out["latency_ms_float"], out
    # What was measured decides: the same journal gives the same file.
    before = (folder / "best.onnx").read_bytes()
    run(folder, "--json", "--max-drop", "5")
    assert (folder / "best.onnx").read_bytes() == before


def nothing_helps(folder):
    x, want = make(folder, None, labels=False)
    done = run(folder, "--costs", "model", "--min-sqnr", "150", "--save-plan", "p.json")
    assert "the float network is kept: no network with layers in codes holds the bar" in done.stdout, done.stdout
    assert not (folder / "p.json").exists() and "p.json" in done.stderr
    assert np.allclose(onnxruntime_scores(folder / "best.onnx", x), want, rtol=1e-4, atol=1e-4)
    # And without labels a bar that can be held.
    out = json.loads(run(folder, "--costs", "model", "--min-sqnr", "20", "--json", output="sqnr.onnx").stdout)
    assert out["accuracy"] is None and out["kept"] == "quantized" and out["sqnr_db"] >= 20, out
    got = onnxruntime_scores(folder / "sqnr.onnx", x)
    assert 10 * np.log10((want**2).sum() / ((got - want)**2).sum()) > 18
    done = run(folder, "--costs", "model", expect=2, output="none.onnx")
    assert "no labels" in done.stderr and "--min-sqnr" in done.stderr, done.stderr


def other_targets(folder):
    x, want = make(folder, BAD)
    for target in ("onnxruntime", "tensorrt-10"):
        out = json.loads(run(folder, "--target", target, "--max-drop", "2", "--json", output=target + ".onnx").stdout)
        assert out["costs"] == "model" and out["target"].startswith(target), out
        # Steps of FP8 grow with the number, so that it holds both kinds of weights, and TensorRT multiplies it as fast as
        # int8. In ONNX Runtime it is computed in float.
        fp8 = target == "tensorrt-10"
        assert (out["float"], out["choices"]) == (([], {BAD: "fp8"}) if fp8 else ([BAD], {})), out
        assert out["work"] <= 0.26 * out["work_float"] if fp8 else out["work"] < out["work_float"], out
        formats = {layer["node"]: layer["format"] for layer in out["layers"]}
        assert formats[BAD] == ("fp8-e4m3fn" if fp8 else "float") and formats["l0"] == "int8", formats
        types = {i.name: i.data_type for i in onnx.load(folder / (target + ".onnx")).graph.initializer}
        assert (TensorProto.FLOAT8E4M3FN in types.values()) == fp8, types
        # Its optimizations drop a Relu in front of FP8 codes.
        got = onnxruntime_scores(folder / (target + ".onnx"), x, optimized=not fp8)
        right = (got.argmax(axis=1) == want.argmax(axis=1)).mean()
        assert right >= 0.97, right
        subprocess.run([OCTET, "check", target + ".onnx", "--target", target], cwd=folder, check=True,
                       capture_output=True)


def stored_bytes(path):
    """Of all numbers in a file, two of 4 bits in a byte."""
    total = 0
    for tensor in onnx.load(path).graph.initializer:
        count = int(np.prod(tensor.dims))
        small = tensor.data_type in (TensorProto.INT4, TensorProto.UINT4)
        total += (count + 1) // 2 if small else count * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    return total


def as_small_as_possible(folder):
    x, want = make(folder, BAD)
    out = json.loads(run(folder, "--goal", "size", "--max-drop", "5", "--json", "--save-plan", "p.json").stdout)
    assert out["goal"] == "size" and out["kept"] == "quantized" and out["drop"] <= 5, out
    assert out["bytes"] == stored_bytes(folder / "best.onnx"), (out["bytes"], stored_bytes(folder / "best.onnx"))
    assert out["bytes_float"] == stored_bytes(folder / "m.onnx")
    assert out["bytes"] < 0.25 * out["bytes_float"], out
    # Nothing that was measured and holds the bar is smaller.
    assert all(t["bytes"] >= out["bytes"] for t in out["pareto"] if t["holds"]), out["pareto"]
    assert (out["recipe"], out["float"], out["choices"]) == ("int4-weights", [], {BAD: "fp8-weights"}), out
    types = {i.name: i.data_type for i in onnx.load(folder / "best.onnx").graph.initializer}
    assert types["w0_quantized"] == TensorProto.INT4 and types["w2_quantized"] == TensorProto.FLOAT8E4M3FN, types
    # Its optimizations round what such weights are multiplied with.
    got = onnxruntime_scores(folder / "best.onnx", x, optimized=False)
    right = (got.argmax(axis=1) == want.argmax(axis=1)).mean()
    assert right >= 0.93, right
    subprocess.run([OCTET, "quantize", "m.onnx", "--plan", "p.json", "-o", "again.onnx"], cwd=folder, check=True,
                   capture_output=True)
    assert without_history(folder / "again.onnx") == without_history(folder / "best.onnx")


def killed(folder):
    for arguments in (("--costs", "model", "--max-drop", "2"), ("--target", "tensorrt-10", "--max-drop", "2"),
                      ("--goal", "size", "--max-drop", "5")):
        for file in folder.iterdir():
            file.unlink()
        killed_ten_times(folder, *arguments, "--seed", "1")


def killed_ten_times(folder, *arguments):
    """Ten times at a random moment, and each time on from there."""
    make(folder, BAD)
    begin = time.monotonic()
    run(folder, *arguments, output="want.onnx")
    whole = time.monotonic() - begin
    want = (folder / "want.onnx").read_bytes()
    rng, kills = random.Random(9), 0
    for number in range(20):
        if kills >= 10:
            break
        output = f"round{number}.onnx"
        for _ in range(10):
            child = subprocess.Popen([OCTET, "optimize", "m.onnx", "--data", "npz:d.npz", "-o", output, *arguments],
                                     cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                child.wait(timeout=rng.uniform(0.1, 0.6) * whole)
                break
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
                kills += 1
            if (folder / output).exists():
                onnx.load(folder / output)  # whole, whatever it is
        run(folder, *arguments, output=output)
        assert (folder / output).read_bytes() == want, f"round {number}: another file"
    assert kills >= 10, f"{kills} kills met a search that ran"
    assert not list(folder.glob(".*octet-*/*"))


def what_lies_there(folder):
    make(folder, None)
    (folder / "best.onnx").write_bytes(b"mine")
    done = run(folder, "--costs", "model", expect=2)
    assert "exists" in done.stderr and (folder / "best.onnx").read_bytes() == b"mine"
    run(folder, "--costs", "model", "--max-drop", "5", "--force")
    done = run(folder, "--costs", "model", "--max-drop", "6", expect=2)
    assert "another search" in done.stderr and "--restart" in done.stderr, done.stderr
    done = run(folder, "--costs", "model", "--max-drop", "6", "--restart", expect=2)
    assert "exists" in done.stderr, done.stderr
    run(folder, "--costs", "model", "--max-drop", "6", "--restart", "--force")
    journal = folder / "best.onnx.journal"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([lines[0], "{}"]) + "\n")
    done = run(folder, "--costs", "model", "--max-drop", "6", expect=2)
    assert "line 2" in done.stderr, done.stderr
    for budget in ("soon", "-1m", "0", "m", "1e20h"):
        done = run(folder, "--budget", budget, expect=2, output="other.onnx")
        assert "--budget" in done.stderr, done.stderr
    done = subprocess.run([OCTET, "optimize", "best.onnx", "--data", "npz:d.npz", "-o", "twice.onnx"], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "quantized" in done.stderr, done.stderr


def main():
    for test in (one_layer_ruins_it, harmless_codes, measured_costs, nothing_helps, other_targets,
                 as_small_as_possible, killed, what_lies_there):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-optimize-"))
        try:
            test(folder)
            print(f"{test.__name__}: passed")
        finally:
            shutil.rmtree(folder)


main()
