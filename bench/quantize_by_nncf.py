# SPDX-License-Identifier: Apache-2.0
# usage: ~/.cache/octet/algorithms-1/bin/python bench/quantize_by_nncf.py FOLDER FILE.onnx...    (tools/algorithms makes that environment)
"""Files as NNCF's post-training quantization writes them with its defaults, on eight normally distributed examples, as
FOLDER/NAME.onnx: for bench/models_onnxruntime.py."""
import pathlib
import sys

import nncf
import numpy
import onnx


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in map(pathlib.Path, sys.argv[2:]):
        model = onnx.load(path)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in constants]
        random = numpy.random.default_rng(0)
        examples = [{value.name: random.standard_normal([d.dim_value or 1 for d in value.type.tensor_type.shape.dim]).astype(numpy.float32)
                     for value in inputs} for _ in range(8)]
        onnx.save(nncf.quantize(model, nncf.Dataset(examples), subset_size=8), folder / path.name)


if __name__ == "__main__":
    main()
