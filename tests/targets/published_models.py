# SPDX-License-Identifier: Apache-2.0
# Published models through octet, beside ONNX Runtime: imported, simplified, quantized with data from .npy files, run.
# One row a model and file. "float": the largest difference of an output from ONNX Runtime's without optimizations, as a
# part of that output's largest magnitude (1e-4 is allowed). "int8": both run the quantized file, with the codes of every
# layer as further outputs, ONNX Runtime in its exact mode (session.x64quantprecision=1); in steps, the largest difference
# of any code and the share of codes that differ (one step is allowed). Each layer starts from ONNX Runtime's codes, so
# that what one layer does is not blamed on another. exit 1: a bar was missed, or there are no models
# The models are those of OCTET_DATA/models (../shared/data/models beside the source tree).
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
DATA = pathlib.Path(os.environ.get("OCTET_DATA") or pathlib.Path(os.environ["OCTET_SOURCE_DIR"]) / "../shared/data")
TARGETS = ("octet", "onnxruntime", "tensorrt-10")
FLOAT_BAR, STEP_BAR = 1e-4, 1
random = numpy.random.default_rng(0)


def octet(*arguments):
    done = subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout


def faces(count):
    """Smooth pictures with the network's normalization: random colours at 15 x 20 points, interpolated."""
    small = random.uniform(-1, 1, (count, 3, 15, 20))
    rows = numpy.repeat(numpy.repeat(small, 16, axis=2), 16, axis=3)
    return (rows + random.normal(0, 0.05, rows.shape)).clip(-1, 1).astype(numpy.float32)


def files(count):
    """Beginnings and ends of files as magika reads them: bytes of scripts, binaries and noise, 256 for padding."""
    sources = [pathlib.Path(p).read_bytes() for p in (__file__, OCTET, sys.executable)]
    out = numpy.full((count, 1024), 256, numpy.int32)
    for row in out:
        source = sources[random.integers(len(sources))]
        at = random.integers(max(1, len(source) - 1024))
        some = numpy.frombuffer(source[at:at + random.integers(64, 1025)], numpy.uint8)
        row[:len(some)] = some
    return out


def theirs(model, inputs, exact=False, optimize=False):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except NotImplemented:  # its optimizer turns only some codes of a QLinearConv from int8 to uint8
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs)))


def ours(model, inputs, scratch):
    numpy.savez(f"{scratch}/in.npz", **inputs)
    octet("run", model, "--inputs", f"{scratch}/in.npz", "-o", f"{scratch}/out.npz", "--threads", 1, "--force")
    with numpy.load(f"{scratch}/out.npz") as result:
        return {name: result[name] for name in result.files}


def float_difference(a, b):
    return max(float(numpy.abs(a[n].astype(float) - b[n]).max()) / max(float(numpy.abs(b[n]).max()), 1e-30) for n in b)


def cut_into_layers(path, inputs, scratch):
    """The model with each activation's codes as an output and, for its readers, as an input; and those inputs."""
    model = onnx.load(path)
    graph = model.graph
    constants = {t.name: t for t in graph.initializer}
    made = {o for n in graph.node for o in n.output}
    cuts, shapes = {}, {}
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in made and len(node.input) > 2:
            cuts[node.input[0]] = constants[node.input[2]].data_type
            node.input[0] += "/given"
    outputs = {o.name for o in graph.output}
    for name, kind in cuts.items():
        if name not in outputs:
            graph.output.append(onnx.helper.make_tensor_value_info(name, kind, None))
    probe = onnx.load(path)
    for name, kind in cuts.items():
        if name not in outputs:
            probe.graph.output.append(onnx.helper.make_tensor_value_info(name, kind, None))
    codes = theirs(probe.SerializeToString(), inputs)
    given = dict(inputs)
    for name, kind in cuts.items():
        shapes[name] = codes[name].shape
        graph.input.append(onnx.helper.make_tensor_value_info(name + "/given", kind, codes[name].shape))
        given[name + "/given"] = codes[name]
    onnx.save(model, f"{scratch}/layers.onnx")
    return f"{scratch}/layers.onnx", given, list(cuts)


def steps(path, inputs, scratch):
    """Largest difference of a layer's codes and the share of codes that differ, layer by layer; and of the whole."""
    layers, given, names = cut_into_layers(path, inputs, scratch)
    a, b = ours(layers, given, scratch), theirs(layers, given, exact=True, optimize=True)
    apart = {n: numpy.abs(a[n].astype(int) - b[n]) for n in names}
    total = sum(d.size for d in apart.values())
    worst = max(names, key=lambda n: apart[n].max(), default=None)
    whole = float_difference(ours(path, inputs, scratch), theirs(str(path), inputs, exact=True, optimize=True))
    return {"codes": len(names), "steps": int(apart[worst].max()) if worst else 0, "worst": worst,
            "differ": sum(int((d > 0).sum()) for d in apart.values()) / max(total, 1), "whole": whole}


def nodes(path):
    return sum(json.loads(octet("inspect", path, "--json"))["operators"].values())


def float_row(name, path, inputs, scratch):
    simple = f"{scratch}/simple.onnx"
    octet("simplify", path, "-o", simple, "--force")
    want = theirs(str(path), inputs)
    row = {"model": name, "form": "float", "nodes": nodes(path), "simplified": nodes(simple),
           "float": float_difference(ours(path, inputs, scratch), want),
           "float_simplified": float_difference(ours(simple, inputs, scratch), want)}
    row["ok"] = max(row["float"], row["float_simplified"]) <= FLOAT_BAR
    return row


def quantized_row(name, path, target, data, inputs, scratch):
    out = f"{scratch}/{target}.onnx"
    specs = []
    for key, value in data.items():
        numpy.save(f"{scratch}/{key}.npy", value)
        specs.append(f"{key}={scratch}/{key}.npy")
    try:
        octet("quantize", path, "--data", "npy:" + ",".join(specs), "--target", target, "-o", out, "--force")
    except RuntimeError as refused:
        if "octet repair" not in str(refused):
            raise
        octet("repair", path, "--target", target, "-o", out, "--force")
    octet("check", out, "--target", target)
    row = {"model": name, "form": target, "nodes": nodes(out), **steps(out, inputs, scratch)}
    row["ok"] = row["steps"] <= STEP_BAR
    return row


def quantized_already(name, folder, scratch):
    with numpy.load(folder / "io.npz") as io:
        inputs, want = {"input": io["input"]}, io["output"]
    path = folder / "model.onnx"
    simple = f"{scratch}/simple.onnx"
    octet("simplify", path, "-o", simple, "--force")
    row = {"model": name, "form": "as it came", "nodes": nodes(path), "simplified": nodes(simple),
           **steps(path, inputs, scratch)}
    for key, file in (("float", path), ("float_simplified", simple)):
        out = ours(file, inputs, scratch)
        edge = (len(want) - len(out["output"])) // 2  # frames at the ends that its authors left out
        row[key] = float_difference(out, {"output": want[edge:len(want) - edge]})
    row["ok"] = row["steps"] <= STEP_BAR
    return row


def rows(models, scratch):
    face = models / "ultraface" / "ultraface-version-RFB-320.onnx"
    magika = models / "magika-fast" / "model.onnx"
    for name, path, data, inputs in (
            ("ultraface RFB-320", face, {"input": faces(16)}, {"input": faces(1)}),
            ("magika", magika, {"bytes": files(128)}, {"bytes": files(16)})):
        yield name, "float", lambda: float_row(name, path, inputs, scratch)
        for target in TARGETS:
            yield name, target, lambda: quantized_row(name, path, target, data, inputs, scratch)
    for folder in sorted((models / "tract-quant").iterdir()):
        if not folder.is_dir():
            continue
        yield folder.name, "as it came", lambda: quantized_already(folder.name, folder, scratch)
        with numpy.load(folder / "io.npz") as io:
            data = {"input": io["input"]}
        for target in TARGETS:
            yield folder.name, target, lambda: quantized_row(folder.name, folder / "model.onnx", target, data, data, scratch)


def main():
    print("| model | form | nodes | simplified | float | simplified | layers | steps | codes that differ | whole | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    missed = 0
    if not (DATA / "models").is_dir():
        sys.exit(f"no models in {DATA}; set OCTET_DATA")
    with tempfile.TemporaryDirectory() as scratch:
        for name, form, make in rows(DATA / "models", scratch):
            try:
                row = make()
            except (RuntimeError, KeyError) as failure:
                print(f"| {name} | {form} | {failure} |", flush=True)
                missed += 1
                continue
            missed += not row["ok"]
            text = lambda key, form="{}": form.format(row[key]) if key in row else ""
            print(f"| {name} | {form} | {text('nodes')} | {text('simplified')} | {text('float', '{:.1e}')} "
                  f"| {text('float_simplified', '{:.1e}')} | {text('codes')} | {text('steps')} "
                  f"| {text('differ', '{:.1e}')} | {text('whole', '{:.1e}')} | {'ok' if row['ok'] else 'MISSED ' + str(row.get('worst'))} |", flush=True)
    sys.exit(missed > 0)


main()
