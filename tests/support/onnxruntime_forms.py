# SPDX-License-Identifier: Apache-2.0
# Runs models in ONNX Runtime and says what became of them.
# usage: onnxruntime_forms.py FOLDER    with FOLDER/<model>.onnx and FOLDER/x.pb, the one input of each
# Prints JSON: {model: {"error": text} or {"ops": {type: count}, "output": [numbers], "saturating": [numbers]}}, the last
# one as it comes out by default, where the products may saturate.
import collections
import json
import math
import pathlib
import sys

import onnx
import onnxruntime
from onnx import numpy_helper


def output(path, x, options):
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    values = session.run(None, {session.get_inputs()[0].name: x})[0].reshape(-1)
    return [float(v) if math.isfinite(v) else None for v in values]  # JSON has no other numbers


def run(path, x):
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    saturating = output(path, x, options)
    # u8 x s8 products saturate without it on processors that lack VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    optimized = path.with_suffix(".optimized")
    options.optimized_model_filepath = str(optimized)
    exact = output(path, x, options)
    ops = collections.Counter(node.op_type for node in onnx.load(str(optimized)).graph.node)
    return {"ops": ops, "output": exact, "saturating": saturating}


folder = pathlib.Path(sys.argv[1])
tensor = onnx.TensorProto()
tensor.ParseFromString((folder / "x.pb").read_bytes())
x = numpy_helper.to_array(tensor)
results = {}
for path in sorted(folder.glob("*.onnx")):
    try:
        results[path.stem] = run(path, x)
    except Exception as error:  # reported to the test, which fails with it
        results[path.stem] = {"error": str(error)}
print(json.dumps(results))
