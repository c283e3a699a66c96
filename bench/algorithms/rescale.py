# SPDX-License-Identifier: Apache-2.0
# usage: rescale.py DEPTHWISE.onnx OUT.onnx
"""Channels of unlike size, as MobileNet's have once batch norm is folded (Nagel et al. 2019, figure 2): each channel behind a
Relu becomes 2^k times as large, k from -4 to 4 at random, and the weights that read it 2^-k. The network computes the same
bits; it is what cross-layer equalization inverts."""
import sys

import numpy
import onnx
from onnx import numpy_helper


def main():
    model = onnx.load(sys.argv[1])
    stored = {t.name: t for t in model.graph.initializer}
    reader = {name: node for node in model.graph.node for name in node.input}
    random = numpy.random.default_rng(1)

    def scale(name, factors):
        values = numpy_helper.to_array(stored[name])
        stored[name].CopyFrom(numpy_helper.from_array((values * factors).astype(numpy.float32), name))

    for norm in [n for n in model.graph.node if n.op_type == "BatchNormalization"]:
        node = norm
        while node.op_type not in ("Conv", "Gemm"):
            node = reader[node.output[0]]
        shape = stored[node.input[1]].dims
        factors = 2.0 ** random.integers(-4, 5, stored[norm.input[1]].dims[0])
        scale(norm.input[1], factors)
        scale(norm.input[2], factors)
        # A channel is the first axis of a depthwise weight and the second of the others.
        depthwise = node.op_type == "Conv" and shape[1] == 1 and shape[0] == len(factors)
        scale(node.input[1], (1 / factors).reshape([-1, 1, 1, 1] if depthwise else [1, -1] + [1] * (len(shape) - 2)))
    onnx.save(model, sys.argv[2])


main()
