# SPDX-License-Identifier: Apache-2.0
# usage: judge.py FILE.onnx TEST.npz OUT
"""What ONNX Runtime's CPU provider answers for each test example: OUT gets a byte for each, 1 where it is right."""
import json
import pathlib
import sys

import numpy
import onnxruntime


def session(path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level, options.intra_op_num_threads = level, 4, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def answers(model, data, count, batch=100):
    wanted = [i.name for i in model.get_inputs()]
    pieces = ({name: data[name][at:at + batch] for name in wanted} for at in range(0, count, batch))
    return numpy.concatenate([model.run(None, piece)[0] for piece in pieces]).argmax(1)


def main():
    levels = onnxruntime.GraphOptimizationLevel
    with numpy.load(sys.argv[2]) as file:
        data = dict(file)
    labels, note = data.pop("label"), ""
    try:
        found = answers(session(sys.argv[1], levels.ORT_ENABLE_ALL), data, len(labels))
    except Exception as error:  # some files of others stop its optimizer
        note = f"not optimized, else: {str(error)[:160]}"
        found = answers(session(sys.argv[1], levels.ORT_DISABLE_ALL), data, len(labels))
    pathlib.Path(sys.argv[3]).write_bytes((found == labels).astype(numpy.uint8).tobytes())
    print(json.dumps({"note": note}))


main()
