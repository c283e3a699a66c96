# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/int8_models_onnxruntime.py OCTET FILE.onnx...
"""Float models of one float input, quantized by octet for itself and for ONNX Runtime on random data: milliseconds, best and
median, in turn of octet's int8 and float, ONNX Runtime's float and its int8 on the file made for it. A measurement of speed
alone. Weights that are one constant each, as ONNX's own architectures have them, become normally distributed numbers first:
their codes would all be 127, which is the worst case of every proof that sums do not saturate.

Environment: THREADS (1), ROUNDS (5), SECONDS of each in a round (0.3), EXAMPLES for calibration (4).
"""
import os
import pathlib
import sys
import tempfile

import numpy
import onnx
from models_onnxruntime import ROUNDS, THREADS, best_and_median, loaded, octet_says, seen_here, seen_there, shape_of

EXAMPLES = int(os.environ.get("EXAMPLES", "4"))


def with_varied_weights(path, folder):
    """The path of a model whose products have weights of more than one value."""
    model = onnx.load(path)
    random = numpy.random.default_rng(3)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    filled = {node.output[0]: node for node in model.graph.node if node.op_type == "ConstantOfShape"}
    for node in [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]:
        name = node.input[1]
        if name in filled and filled[name].input[0] in constants:
            shape = onnx.numpy_helper.to_array(constants[filled[name].input[0]])
            model.graph.node.remove(filled.pop(name))
            model.graph.initializer.append(onnx.TensorProto(name=name))
            tensor = model.graph.initializer[-1]
        elif name in constants and constants[name].data_type == onnx.TensorProto.FLOAT:
            tensor = constants[name]
            values = onnx.numpy_helper.to_array(tensor)
            if values.size < 2 or values.min() != values.max():
                continue
            shape = values.shape
        else:
            continue
        inputs = numpy.prod(shape[1:]) if node.op_type == "Conv" else shape[0]
        values = random.standard_normal([int(size) for size in shape]) * numpy.sqrt(2 / inputs)
        tensor.CopyFrom(onnx.numpy_helper.from_array(values.astype(numpy.float32), name))
    onnx.save(model, folder / "float.onnx")
    return folder / "float.onnx"


def measured(octet, file, folder):
    """Best and median times, by what ran."""
    path = with_varied_weights(file, folder)
    original = loaded(path)
    (value,) = original.get_inputs()
    shape = shape_of(file, value)
    data, one = folder / "data.npz", folder / "one.npz"
    random = numpy.random.default_rng(1)
    numpy.savez(data, **{value.name: random.uniform(-1, 1, (EXAMPLES, *shape[1:])).astype(numpy.float32)})
    inputs = {value.name: random.uniform(-1, 1, shape).astype(numpy.float32)}
    numpy.savez(one, **inputs)
    ours, theirs = folder / "octet.onnx", folder / "onnxruntime.onnx"
    for file in (ours, theirs):
        octet_says(octet, "quantize", path, "--data", f"npz:{data}", "--target", file.stem, "-o", file, "--force")
    quantized = loaded(theirs)
    times = {"octet int8": [], "octet float": [], "ONNX Runtime float": [], "ONNX Runtime int8": []}
    for _ in range(ROUNDS):
        times["octet int8"].append(seen_here(octet, ours, one))
        times["ONNX Runtime float"].append(seen_there(original, inputs))
        times["ONNX Runtime int8"].append(seen_there(quantized, inputs))
        times["octet float"].append(seen_here(octet, path, one))
    return {name: best_and_median(seen) for name, seen in times.items()}


def main():
    octet, files = sys.argv[1], [pathlib.Path(file) for file in sys.argv[2:]]
    print(f"{THREADS} threads, best / median ms\n\n| model | octet int8 | octet float | ONNX Runtime float | ONNX Runtime int8 | "
          "faster of the two / octet int8 |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for path in files:
            seen = measured(octet, path, pathlib.Path(name))
            gains = [min(seen["ONNX Runtime float"][i], seen["ONNX Runtime int8"][i]) / seen["octet int8"][i] for i in range(2)]
            cells = [f"{best:.3g} / {median:.3g}" for best, median in seen.values()]
            print(f"| {path.parent.name}/{path.stem} | {' | '.join(cells)} | {gains[0]:.2f} / {gains[1]:.2f} |", flush=True)


main()
