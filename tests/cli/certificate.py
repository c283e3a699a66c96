# SPDX-License-Identifier: Apache-2.0
"""octet certify --certificate: bounds of sums by NumPy, and runs that repeat (docs/certify.md)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
problems = []


def octet(*arguments, status=0):
    done = subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != status:
        problems.append(f"{arguments}: exit {done.returncode}, wanted {status}: {done.stdout}{done.stderr}")
    return done


def largest_sum(weights, lowest, highest):
    """Of |sum of w x| for rows of int8 weights and any x within the codes."""
    w = weights.astype(np.int64).reshape(len(weights), -1)
    ends = np.stack([w * lowest, w * highest])
    return int(max(ends.max(0).sum(1).max(), -ends.min(0).sum(1).min()))


def main(folder):
    octet("train", "cnn", "--data", "generated", "--steps", "60", "-o", folder / "cnn.onnx")
    octet("quantize", folder / "cnn.onnx", "--data", "generated", "-o", folder / "int8.onnx")
    page, file = folder / "c.html", folder / "c.json"
    octet("certify", folder / "int8.onnx", "--data", "generated", "--limit", "16", "--certificate", file, status=1)
    octet("certify", folder / "int8.onnx", "--certificate", page, status=1)
    said = json.loads(file.read_text())
    if not said["repeats"] or len({run["outputs"] for run in said["runs"]}) != 1 or len(said["runs"]) < 2:
        problems.append(f"runs: {said['runs']}")
    model = onnx.load(folder / "int8.onnx")
    stored = [numpy_helper.to_array(t) for t in model.graph.initializer if t.data_type == onnx.TensorProto.INT8 and len(t.dims) > 1]
    if len(said["layers"]) != len(stored):
        problems.append(f"{len(said['layers'])} layers, {len(stored)} weights")
    for layer in said["layers"]:
        codes = layer["lowest_code"], layer["highest_code"]
        bounds = {largest_sum(w, *codes) for w in stored} | {largest_sum(np.moveaxis(w, -1, 0), *codes) for w in stored if w.ndim == 2}
        if layer["largest_sum"] not in bounds:
            problems.append(f"{layer['node']}: a largest sum of {layer['largest_sum']}, NumPy has {sorted(bounds)}")
    text = page.read_text()
    for word in (said["model_hash"], said["lowered_hash"], "round half to even", said["layers"][0]["node"], "scalar"):
        if word not in text:
            problems.append(f"the page lacks {word}")
    octet("certify", folder / "int8.onnx", "--certificate", page, status=2)  # not over a file that is there


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
print("\n".join(problems))
sys.exit(bool(problems))
