# SPDX-License-Identifier: Apache-2.0
# usage: python bench/quantize_by_modelopt.py FOLDER FILE.onnx...    (an environment with nvidia-modelopt[onnx]==0.47)
"""Files as ModelOpt's ONNX quantization writes them with its defaults (int8 in a network of fp16), on one normally distributed
example, as FOLDER/NAME.onnx: for bench/models_onnxruntime.py."""
import pathlib
import sys

import numpy
import onnx
from modelopt.onnx.quantization import quantize


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in map(pathlib.Path, sys.argv[2:]):
        graph = onnx.load(path).graph
        constants = {tensor.name for tensor in graph.initializer}
        random = numpy.random.default_rng(0)
        example = {value.name: random.standard_normal([d.dim_value or 1 for d in value.type.tensor_type.shape.dim]).astype(numpy.float32)
                   for value in graph.input if value.name not in constants}
        quantize(str(path), calibration_data=example, calibration_eps=["cpu"], output_path=str(folder / path.name))


if __name__ == "__main__":
    main()
