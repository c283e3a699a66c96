# SPDX-License-Identifier: Apache-2.0
"""Inlining local functions changes no number: models with calls give the same outputs before and after, by ONNX Runtime;
and onnx.checker accepts the result."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, TensorProto, helper, numpy_helper

BUILD = pathlib.Path(os.environ["OCTET_BUILD_DIR"])
OPSET = helper.make_opsetid("", 17)
LOCAL = helper.make_opsetid("local", 1)


def info(name, shape=(2, 3), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def reference(node, name, to, kind):
    node.attribute.add(name=name, ref_attr_name=to, type=kind)
    return node


def function(name, inputs, outputs, nodes, attributes=(), defaults=()):
    return helper.make_function("local", name, inputs, outputs, nodes, [OPSET, LOCAL], list(attributes), list(defaults))


def model(nodes, functions, inputs=("x",), outputs=("y",)):
    graph = helper.make_graph(nodes, "main", [info(i) if i != "c" else info("c", (), TensorProto.BOOL) for i in inputs],
                              [info(o) for o in outputs])
    return helper.make_model(graph, opset_imports=[OPSET, LOCAL], functions=list(functions), ir_version=10)


def call(name, inputs, outputs, **attributes):
    return helper.make_node(name, inputs, outputs, domain="local", **attributes)


def twice():
    nodes = [helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.float32(2), "two")),
             helper.make_node("Mul", ["a", "two"], ["b"])]
    return function("Twice", ["a"], ["b"], nodes)


def leaky(defaults=()):
    node = reference(helper.make_node("LeakyRelu", ["t"], ["b"]), "alpha", "slope", AttributeProto.FLOAT)
    names = [] if defaults else ["slope"]
    return function("Leaky", ["a"], ["b"], [call("Twice", ["a"], ["t"]), node], names, defaults)


def attributes_given():
    return model([call("Leaky", ["x"], ["h"], slope=0.5), call("Leaky", ["h"], ["y"], slope=0.25)], [twice(), leaky()])


def attributes_by_default():
    default = helper.make_attribute("slope", 0.75)
    return model([call("Leaky", ["x"], ["h"]), call("Leaky", ["h"], ["y"], slope=0.25)], [twice(), leaky([default])])


def attribute_left_out():
    return model([call("Leaky", ["x"], ["y"])], [twice(), leaky()])


def two_results_swapped():
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Identity", ["b"], ["p"]),
             helper.make_node("Identity", ["a"], ["q"])]
    swap = function("Swap", ["a", "b"], ["p", "q", "s"], nodes)
    return model([call("Swap", ["x", "z"], ["p", "q", "s"]), helper.make_node("Sub", ["p", "q"], ["d"]),
                  helper.make_node("Mul", ["d", "s"], ["y"])], [swap], ("x", "z"))


def a_branch_calls():
    """A call inside an If of the main graph, and an If with references and outer names inside a function."""
    low = reference(helper.make_node("LeakyRelu", ["a"], ["o"]), "alpha", "slope", AttributeProto.FLOAT)
    then = helper.make_graph([low], "then", [], [info("o")])
    other = helper.make_graph([call("Twice", ["a"], ["o"])], "else", [], [info("o")])
    choose = function("Choose", ["a", "c"], ["b"], [helper.make_node("If", ["c"], ["b"], then_branch=then, else_branch=other)],
                      ["slope"])
    first = helper.make_graph([call("Choose", ["x", "c"], ["o"], slope=0.5)], "first", [], [info("o")])
    second = helper.make_graph([call("Twice", ["x"], ["t"]), helper.make_node("Neg", ["t"], ["o"])], "second", [],
                               [info("o")])
    nodes = [helper.make_node("If", ["c"], ["h"], then_branch=first, else_branch=second),
             call("Choose", ["h", "c"], ["y"], slope=0.125)]
    return model(nodes, [twice(), choose], ("x", "c"))


def names_collide():
    """The function's inner names are names of the main graph too."""
    return model([helper.make_node("Neg", ["x"], ["t"]), call("Leaky", ["t"], ["b"], slope=0.5),
                  call("Twice", ["b"], ["a"]), helper.make_node("Sum", ["a", "b", "t"], ["y"])], [twice(), leaky()])


def from_onnx():
    """Operators that the onnx package defines by functions, as local functions."""
    schema = onnx.defs.get_schema("MeanVarianceNormalization", 13)
    body = onnx.FunctionProto.FromString(schema.get_function_with_opset_version(13))
    body.domain, body.name = "local", "Mvn"
    del body.opset_import[:]
    body.opset_import.extend([OPSET])
    return model([call("Mvn", ["x"], ["y"], axes=[0])], [body])


MODELS = [attributes_given, attributes_by_default, attribute_left_out, two_results_swapped, a_branch_calls, names_collide,
          from_onnx]


def outputs(proto):
    random = np.random.default_rng(1)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    results = []
    for condition in (True, False):
        feeds = {i.name: np.array(condition) if i.name == "c" else random.normal(size=(2, 3)).astype(np.float32)
                 for i in proto.graph.input}
        results += session.run(None, feeds)
    return results


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        paths = {build.__name__: pathlib.Path(folder) / f"{build.__name__}.onnx" for build in MODELS}
        for build in MODELS:
            onnx.save(build(), paths[build.__name__])
        subprocess.run([BUILD / "bin/octet_test_passes", "--gtest_filter=InlineFunctions.InlinesTheModelsOfAFolder"],
                       check=True, env=dict(os.environ, OCTET_INLINE=folder))
        for build in MODELS:
            before, after = build(), onnx.load(paths[build.__name__])
            onnx.checker.check_model(after)
            if after.functions:
                failures.append(f"{build.__name__}: functions are left")
            for expected, got in zip(outputs(before), outputs(after), strict=True):
                if not np.array_equal(expected, got):
                    failures.append(f"{build.__name__}: {expected} became {got}")
    print("\n".join(failures) or f"{len(MODELS)} models give the same numbers")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
