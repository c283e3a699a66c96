# SPDX-License-Identifier: Apache-2.0
"""Relu and Clip before Q, with bounds as attributes (operator set 10) and as inputs, on either side of Q's range: they go
where Q does their work, and stay where it does not. Exports give what ONNX Runtime computes of the file as it stands, and
explain says what its optimizations make of it."""
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from qdq import Model, exported, octet, octet_runs, onnxruntime_runs, operators

random = np.random.default_rng(2)
SCALE, ZERO = 0.0211, 128  # Q reaches from -2.7008 to 2.6797
BOUNDS = [(None, None), (-0.1, 0.1), (-9.0, 9.0), (-9.0, 1.0), (-1.0, 9.0), (None, 1.0), (-1.0, None), (None, 9.0), (0.0, 6.0)]


def layer(opset, clamp, bounds):
    m = Model([1, 2, 4, 4], opset)
    w = m.dequantize(m.constant(random.integers(-63, 64, (3, 2, 1, 1)).astype(np.int8)), 0.0417, np.int8(0))
    y = m.node("Conv", [m.pair("x", SCALE, np.uint8(ZERO)), w])
    if clamp == "Relu":
        y = m.node("Relu", [y])
    elif opset < 11:
        y = m.node("Clip", [y], **{k: v for k, v in zip(("min", "max"), bounds) if v is not None})
    else:
        y = m.node("Clip", [y, *("" if v is None else m.constant(v, np.float32) for v in bounds)])
    return m, m.pair(y, SCALE, np.uint8(ZERO))


def faults(title, m, y, folder):
    path, optimized = m.save(folder / "model.onnx", y), folder / "model.optimized"
    x = random.normal(0, 1, m.shape).astype(np.float32)
    want, error = onnxruntime_runs(path, x)
    if error:
        return [f"{title}: {error}"]
    runs = {"octet": octet_runs(path, x, "native"), "optimized": onnxruntime_runs(path, x, optimized)}
    for form in ("qoperator", "fused"):
        file = exported(path, form)
        runs |= {form: onnxruntime_runs(file, x), f"{form} in octet": octet_runs(file, x, "native")}
    # At a tie the other code may come out.
    out = [f"{title}, {what}: {error or np.abs(got - want).max()}" for what, (got, error) in runs.items()
           if error or np.abs(got - want).max() > SCALE * 1.001 or np.mean(got != want) > 0.05]
    layers = json.loads(octet("explain", path, "--target", "onnxruntime", "--json").stdout)["onnxruntime"]["layers"]
    said = next(l["form"] for l in layers if l["op"] == "Conv")
    there = next(op for op in operators(optimized) if op.endswith("Conv"))
    return out + ([f"{title}: explain says {said}, ONNX Runtime has {there}"] if said != there else [])


def main():
    found, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for opset in (10, 11, 13, 17):
            for clamp, bounds in [("Relu", None), *(("Clip", b) for b in BOUNDS)]:
                count += 1
                found += faults(f"operator set {opset} {clamp} {bounds}", *layer(opset, clamp, bounds), pathlib.Path(folder))
    print(f"{count} files, {len(found)} faults")
    print("\n".join(found[:60]))
    sys.exit(1 if found else 0)


main()
