# SPDX-License-Identifier: Apache-2.0
# usage: difference.py FLOAT.onnx FILE.onnx EXAMPLES RUNTIME    RUNTIME: onnxruntime, unoptimized or octet's program
"""How far FILE's outputs are from FLOAT's on EXAMPLES/test.npz: prints {"errors": E, "powers": P, "coded": N}, for each example a list
of sums of squares by float output, and the nodes of FILE that make codes. A file may lack inputs that are the same in every
run (EXAMPLES/each.npz): they are constants there."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime


def examples(folder):
    each = dict(numpy.load(folder / "each.npz")) if (folder / "each.npz").exists() else {}
    with numpy.load(folder / "test.npz") as file:
        data = dict(file)
    return [{name: values[i:i + 1] for name, values in data.items()} | each for i in range(len(next(iter(data.values()))))]


def coded(graph):
    """Nodes that make codes, in bodies too."""
    made = sum("Quantize" in node.op_type and "Dequantize" not in node.op_type for node in graph.node)
    return made + sum(coded(attribute.g) for node in graph.node for attribute in node.attribute if attribute.HasField("g"))


def by_onnxruntime(path, given, optimized):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in model.get_inputs()]
    return [model.run(None, {name: one[name] for name in names}) for one in given]


def by_octet(octet, path, given):
    """Of a file that takes any number of examples, all in one run."""
    graph = onnx.load(path, load_external_data=False).graph
    names, outputs = [value.name for value in graph.input], [value.name for value in graph.output]
    whole = len(given[0]) == len(names) == 1 and not graph.input[0].type.tensor_type.shape.dim[0].HasField("dim_value")
    runs = [{names[0]: numpy.concatenate([one[names[0]] for one in given])}] if whole else given
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        inputs, made = pathlib.Path(folder) / "in.npz", pathlib.Path(folder) / "out.npz"
        for one in runs:
            numpy.savez(inputs, **{name: one[name] for name in names})
            subprocess.run([octet, "run", path, "--inputs", inputs, "-o", made, "--force", "--threads", "1"], check=True)
            with numpy.load(made) as file:
                seen.append([file[name] for name in outputs])
    return [[value[i:i + 1] for value in seen[0]] for i in range(len(given))] if whole else seen


def sums(want, have):
    """Squares of the errors and of the numbers themselves, by example and float output."""
    errors, powers = [], []
    for wanted, got in zip(want, have):
        pairs = [(a.astype(numpy.float64), b) for a, b in zip(wanted, got) if numpy.issubdtype(a.dtype, numpy.floating)]
        errors.append([float(numpy.square(a - b).sum()) for a, b in pairs])
        powers.append([float(numpy.square(a).sum()) for a, b in pairs])
    return {"errors": errors, "powers": powers}


def main():
    original, path, given, runtime = sys.argv[1], sys.argv[2], examples(pathlib.Path(sys.argv[3])), sys.argv[4]
    want = by_onnxruntime(original, given, True)
    if runtime in ("onnxruntime", "unoptimized"):
        have = by_onnxruntime(path, given, runtime == "onnxruntime")
    else:
        have = by_octet(runtime, path, given)
    print("\n" + json.dumps(sums(want, have) | {"coded": coded(onnx.load(path, load_external_data=False).graph)}))


main()
