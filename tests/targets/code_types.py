# SPDX-License-Identifier: Apache-2.0
"""Q/DQ with codes of every type in every operator set: what ONNX's schemas do not have, no target's check accepts, and
what they have, no check refuses for the operator set."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, defs, helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
TARGETS = ("tensorrt-9.3", "tensorrt-10.10", "onnxruntime", "octet")
TYPES = ("INT8", "UINT8", "INT16", "UINT16", "INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT4E2M1")


def has_type(operator, position, code, opset):
    """Whether the operator's version in the operator set takes or gives codes of the type."""
    schema = defs.get_schema(operator, opset)
    values = schema.inputs if position[0] == "in" else schema.outputs
    name = values[position[1]].type_str
    types = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == name), [name])
    return f"tensor({code.lower()})" in types


def write(path, code, opset, scale_type):
    number = getattr(TensorProto, code)
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="q"),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="d"),
             helper.make_node("Cast", ["d"], ["y"], name="y", to=TensorProto.FLOAT)]
    constants = [helper.make_tensor("s", scale_type, [], [0.5]), helper.make_tensor("z", number, [], [0])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", scale_type, [2, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)


def rules_of(path, target):
    run = subprocess.run([OCTET, "check", path, "--target", target, "--json"], capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    return report["accepted"], {f["rule"] for f in report["findings"]}


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "codes.onnx")
        for opset in (13, 17, 19, 21, 23):
            for code in TYPES:
                valid = has_type("QuantizeLinear", ("out", 0), code, opset) and has_type("DequantizeLinear", ("in", 0), code, opset)
                write(path, code, opset, TensorProto.FLOAT)
                for target in TARGETS:
                    accepted, rules = rules_of(path, target)
                    if (accepted and not valid) or valid == ("operator-type" in rules):
                        print(f"{code}, operator set {opset}, {target}: ONNX says {valid}, check {accepted} with {rules}")
                        wrong += 1
        # A scale of halves in the same file hides nothing.
        write(path, "FLOAT8E4M3FN", 17, TensorProto.FLOAT16)
        for target in TARGETS:
            if rules_of(path, target)[0]:
                print(f"FP8 with a scale of halves, operator set 17, {target}: accepted")
                wrong += 1
    return 1 if wrong else 0


sys.exit(main())
