# SPDX-License-Identifier: Apache-2.0
# usage: layer_errors.py FLOAT.onnx NEAREST.onnx CHOSEN.onnx DATA.npz [EXAMPLES]
"""What two files of the same network with stored weights (octet quantize --mode weight-only) do to the output of each product,
given the float network's inputs on data that neither was made with: |X (W' - W)| of CHOSEN over that of NEAREST."""
import sys

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper


def attribute(node, name, otherwise):
    return next((a.i for a in node.attribute if a.name == name), otherwise)


def stored_weights(path):
    """By product: the numbers that its codes stand for."""
    model = onnx.load(path)
    constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    makers = {out: node for node in model.graph.node for out in node.output}
    out = {}
    for node in model.graph.node:
        if node.op_type not in ("MatMul", "Gemm") or len(node.input) < 2:
            continue
        weight = makers.get(node.input[1])
        if node.input[1] in constants:
            out[node.name] = upright(node, constants[node.input[1]].astype(numpy.float64))
        elif weight is not None and weight.op_type == "DequantizeLinear" and weight.input[0] in constants:
            codes, scales = (constants[name].astype(numpy.float64) for name in weight.input[:2])
            if len(weight.input) > 2 and weight.input[2]:
                assert not constants[weight.input[2]].astype(numpy.int32).any(), node.name
            axis, block = attribute(weight, "axis", 1), attribute(weight, "block_size", 0)
            if block:
                scales = numpy.repeat(scales, block, axis).take(range(codes.shape[axis]), axis)
            elif scales.ndim == 1 and scales.size > 1:
                scales = scales.reshape([-1 if d == axis % codes.ndim else 1 for d in range(codes.ndim)])
            out[node.name] = upright(node, codes * scales)
    return out


def upright(node, weight):
    """[inputs, outputs]."""
    return weight.T if node.op_type == "Gemm" and attribute(node, "transB", 0) else weight


def inputs_of(path, names, data):
    """What the products read, as the mean of x^T x over rows x of the float network."""
    model = onnx.load(path)
    reads = {node.name: node.input[0] for node in model.graph.node if node.name in names}
    known = {o.name for o in model.graph.output} | {i.name for i in model.graph.input}
    for value in sorted(set(reads.values()) - known):
        model.graph.output.append(onnx.ValueInfoProto(name=value))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    fed, wanted = [i.name for i in session.get_inputs()], sorted(set(reads.values()))
    mask = data.get("attention_mask")
    sums, rows = dict.fromkeys(wanted, 0), dict.fromkeys(wanted, 0)
    for at in range(0, len(data[fed[0]]), 8):
        made = session.run(wanted, {name: data[name][at:at + 8] for name in fed})
        for name, x in zip(wanted, made):
            x = x[mask[at:at + 8] != 0] if mask is not None and x.shape[:2] == mask[at:at + 8].shape else x.reshape(-1, x.shape[-1])
            sums[name] = sums[name] + x.T.astype(numpy.float64) @ x
            rows[name] += len(x)
    return {name: sums[value] / rows[value] for name, value in reads.items()}


def main():
    exact, nearest, chosen = (stored_weights(path) for path in sys.argv[1:4])
    with numpy.load(sys.argv[4]) as file:
        data = {name: values[:int((sys.argv + ["64"])[5])] for name, values in file.items() if name != "label"}
    names = [name for name in exact if name in nearest and not numpy.array_equal(nearest[name], exact[name])]
    grams = inputs_of(sys.argv[1], set(names), data)
    ratios = []
    print("| product | error with nearest codes, root mean square | with these | share |\n|---|---|---|---|")
    for name in names:
        errors = [numpy.sqrt(max((d * (grams[name] @ d)).sum(), 0) / d.shape[1]) for d in (nearest[name] - exact[name], chosen[name] - exact[name])]
        ratios.append(errors[1] / errors[0])
        print(f"| {name} | {errors[0]:.4g} | {errors[1]:.4g} | {100 * ratios[-1]:.1f} % |")
    lower = sum(r < 1 for r in ratios)
    print(f"\nlower on {lower} of {len(ratios)} products; share in the mean {100 * numpy.mean(ratios):.1f} % "
          f"({100 * min(ratios):.1f} to {100 * max(ratios):.1f})")


main()
