# SPDX-License-Identifier: Apache-2.0
"""Models with the parts of ONNX that its backend tests leave out. make(folder) writes them."""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def info(name, shape=("N", 3), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def entry(message, key, value):
    message.metadata_props.add(key=key, value=value)


def model(graph, opset=17, ir=10, **more):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir, **more)


def every_type():
    """Initializers of every type, in the typed field and raw."""
    values = []
    for name, code in TensorProto.DataType.items():
        if code == TensorProto.UNDEFINED:
            continue
        if code == TensorProto.STRING:
            values.append(helper.make_tensor("string", code, [3], [b"a", b"", "ü".encode()]))
            continue
        for count in (0, 1, 5, 8):
            array = np.arange(count) % 2
            typed = helper.make_tensor(f"{name}_{count}", code, [count], array.astype(helper.tensor_dtype_to_np_dtype(code)))
            raw = numpy_helper.from_array(numpy_helper.to_array(typed), f"{name}_{count}_raw")
            assert raw.data_type == code
            values += [typed, raw]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "types", [info("x")], [info("y")], values)
    return model(graph, 25, 13)


def texts():
    """Doc strings, metadata, annotations, denotations and fields that octet has no member for."""
    node = helper.make_node("Conv", ["x", "w", ""], ["y"], name="conv", doc_string="a node", pads=[1, 1, 1, 1])
    entry(node, "layer", "1")
    entry(node, "layer2", "")
    device = node.device_configurations.add(configuration_id="two")
    device.sharding_spec.add(tensor_name="x").device.extend([0, 1])
    node.attribute[0].doc_string = "padding"
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    weight.doc_string = "weights"
    entry(weight, "source", "nowhere")
    unused = numpy_helper.from_array(np.ones(2, np.int8), "unused")
    x, y, hidden = info("x", ("N", 3, 8, 8)), info("y", (None, 4, "?", "a b")), info("w", (4, 3, 3, 3))
    x.type.denotation = "IMAGE"
    x.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    x.doc_string = "pixels"
    entry(x, "range", "0..1")
    hidden.doc_string = "weights again"
    nowhere = info("nowhere", (-1, "seq + 2", "2*seq"))
    graph = helper.make_graph([node], "texts", [x], [y], [weight, unused], "the graph", [hidden, nowhere])
    entry(graph, "g", "h")
    annotation = graph.quantization_annotation.add(tensor_name="x")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="unused")
    out = model(graph, 23, 11, producer_name="p", producer_version="1", domain="d", model_version=7, doc_string="doc")
    entry(out, "m", "n")
    out.opset_import.add(domain="com.example", version=3)
    out.configuration.add(name="two", num_devices=2)
    training = out.training_info.add()
    training.initialization.name = "init"
    return out


def unknown_operators():
    node = helper.make_node("Mystery", ["x", "", "x"], ["y", "", "z"], domain="com.example")
    node.attribute.add(name="sparse", type=onnx.AttributeProto.SPARSE_TENSOR).sparse_tensor.CopyFrom(sparse("s"))
    node.attribute.add(name="many", type=onnx.AttributeProto.SPARSE_TENSORS).sparse_tensors.extend([sparse("a"), sparse("b")])
    node.attribute.extend([
        helper.make_attribute("tensors", [numpy_helper.from_array(np.arange(3), "t0"), numpy_helper.from_array(np.eye(2))]),
        helper.make_attribute("type", helper.make_tensor_type_proto(1, [2, "n"])),
        helper.make_attribute("types", [helper.make_tensor_type_proto(1, None),
                                        helper.make_sequence_type_proto(helper.make_tensor_type_proto(7, [3]))]),
        helper.make_attribute("strings", ["a", "", "ü"]), helper.make_attribute("floats", [1.5, float("inf")]),
        helper.make_attribute("text", b"\xff\x00raw"), helper.make_attribute("zero", 0), helper.make_attribute("f", 0.0),
        helper.make_attribute("none", [], attr_type=onnx.AttributeProto.INTS),
    ])
    graph = helper.make_graph([node], "unknown", [info("x")], [info("y"), info("z")])
    out = model(graph)
    out.opset_import.add(domain="com.example", version=1)
    return out


def sparse(name, linear=True):
    indices = np.array([1, 5], np.int64) if linear else np.array([[0, 1], [1, 2]], np.int64)
    return helper.make_sparse_tensor(numpy_helper.from_array(np.array([2.0, 3.0], np.float32), name),
                                     numpy_helper.from_array(indices), [2, 3])


def sparse_constants():
    node = helper.make_node("Sum", ["x", "a", "b"], ["y"])
    graph = helper.make_graph([node], "sparse", [info("x", (2, 3))], [info("y", (2, 3))])
    graph.sparse_initializer.extend([sparse("a"), sparse("b", False)])
    return model(graph)


def constants_as_inputs():
    """IR version 3: every initializer is a graph input, here in between others."""
    one = numpy_helper.from_array(np.ones(3, np.float32), "w")
    two = numpy_helper.from_array(np.ones(3, np.float32), "b")
    nodes = [helper.make_node("Mul", ["x", "w"], ["h"]), helper.make_node("Sum", ["h", "b", "z"], ["y"])]
    graph = helper.make_graph(nodes, "old", [info("w", (3,)), info("x"), info("b", ("C",)), info("z")], [info("y")],
                              [two, one])
    return model(graph, 8, 3)


def default_input():
    graph = helper.make_graph([helper.make_node("Add", ["x", "bias"], ["y"])], "default", [info("x"), info("bias", (3,))],
                              [info("y")], [numpy_helper.from_array(np.ones(3, np.float32), "bias")])
    return model(graph, 17, 8)


def nested_subgraphs():
    """Names of the outermost graph used two levels down, the same names in both branches, a constant inside."""
    def branch(name, extra):
        deep = helper.make_graph([helper.make_node("Add", ["x", extra], ["t"]), helper.make_node("Mul", ["t", "own"], ["out"])],
                                 "deep", [], [info("out", None)])
        other = helper.make_graph([helper.make_node("Neg", ["h"], ["out"])], "other", [], [info("out", None)])
        nodes = [helper.make_node("Identity", ["h"], ["own"]),
                 helper.make_node("If", ["c"], ["r"], then_branch=deep, else_branch=other)]
        return helper.make_graph(nodes, name, [], [info("r", None)],
                                 [numpy_helper.from_array(np.float32(2), "inner")], value_info=[info("own", (3,))])
    nodes = [helper.make_node("Relu", ["x"], ["h"]),
             helper.make_node("If", ["c"], ["y"], then_branch=branch("then", "h"), else_branch=branch("else", "inner"))]
    return model(helper.make_graph(nodes, "nested", [info("x", (3,)), info("c", (), TensorProto.BOOL)], [info("y", None)]))


def scan():
    body = helper.make_graph([helper.make_node("Add", ["s", "e"], ["s2"]), helper.make_node("Mul", ["s2", "k"], ["o"])],
                             "body", [info("s", (2,)), info("e", (2,))], [info("s2", (2,)), info("o", (2,))])
    node = helper.make_node("Scan", ["init", "xs"], ["final", "ys"], num_scan_inputs=1, body=body)
    graph = helper.make_graph([node], "scan", [info("init", (2,)), info("xs", (3, 2)), info("k", (2,))],
                              [info("final", (2,)), info("ys", (3, 2))])
    return model(graph)


def functions():
    inner = helper.make_function("local", "Twice", ["a"], ["b"],
                                 [helper.make_node("Constant", [], ["two"], value_float=2.0),
                                  helper.make_node("Mul", ["a", "two"], ["b"])], [helper.make_opsetid("", 17)])
    leaky = helper.make_node("LeakyRelu", ["t"], ["y"])
    leaky.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    outer = helper.make_function("local", "TwiceLeaky", ["x"], ["y"],
                                 [helper.make_node("Twice", ["x"], ["t"], domain="local"), leaky],
                                 [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], ["slope"])
    with_default = helper.make_function("local", "Shift", ["x"], ["y"], [helper.make_node("Identity", ["x"], ["y"])],
                                        [helper.make_opsetid("", 17)], [],
                                        [helper.make_attribute("by", 1.0)])
    nodes = [helper.make_node("TwiceLeaky", ["x"], ["h"], domain="local", slope=0.25),
             helper.make_node("Shift", ["h"], ["y"], domain="local")]
    out = model(helper.make_graph(nodes, "functions", [info("x")], [info("y")]), functions=[inner, outer, with_default])
    out.opset_import.add(domain="local", version=1)
    return out


def containers():
    """Sequence, optional and sparse types."""
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, ["n", 2]))
    optional = helper.make_optional_type_proto(sequence)
    nodes = [helper.make_node("SequenceLength", ["s"], ["n"]), helper.make_node("OptionalHasElement", ["o"], ["h"])]
    graph = helper.make_graph(nodes, "containers", [helper.make_value_info("s", sequence), helper.make_value_info("o", optional)],
                              [info("n", (), TensorProto.INT64), info("h", (), TensorProto.BOOL)])
    return model(graph, 18)


def untyped_outputs():
    """Bodies whose outputs have an empty type, a tensor type that says nothing, and none at all."""
    def branch(name):
        graph = helper.make_graph([helper.make_node("Neg", ["x"], [f"{name}{i}"]) for i in range(3)], name, [],
                                  [onnx.ValueInfoProto(name=f"{name}{i}") for i in range(3)])
        graph.output[0].type.SetInParent()
        graph.output[1].type.tensor_type.SetInParent()
        return graph
    node = helper.make_node("If", ["c"], ["a", "b", "d"], then_branch=branch("then"), else_branch=branch("else"))
    return model(helper.make_graph([node], "untyped", [info("x"), info("c", (), TensorProto.BOOL)],
                                   [info(n) for n in "abd"]))


MODELS = [every_type, texts, unknown_operators, sparse_constants, constants_as_inputs, default_input, nested_subgraphs,
          untyped_outputs, scan, functions, containers]


def make(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for build in MODELS:
        onnx.save(build(), folder / f"{build.__name__}.onnx")
