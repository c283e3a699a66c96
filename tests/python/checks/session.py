# SPDX-License-Identifier: Apache-2.0
"""octet.Session on numpy arrays beside ONNX Runtime: values, types, views, threads, and what is refused."""
import gc
import pathlib
import sys
import threading

import numpy as np
import octet
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from exact_products import saturates

random = np.random.default_rng(3)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def network():
    """A convolution and a product in 8 bits, as Q/DQ."""
    def constant(name, array):
        return numpy_helper.from_array(np.asarray(array), name)

    nodes, weights = [], [constant("zero", np.int8(0))]

    def quantized(x, name, scale):
        weights.append(constant(name + "_scale", np.float32(scale)))
        nodes.append(helper.make_node("QuantizeLinear", [x, name + "_scale", "zero"], [name + "_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_q", name + "_scale", "zero"], [name]))
        return name

    def weight(name, shape, scale):
        weights.extend([constant(name + "_q", random.integers(-127, 128, shape, dtype=np.int8)),
                        constant(name + "_scale", np.float32(scale))])
        nodes.append(helper.make_node("DequantizeLinear", [name + "_q", name + "_scale", "zero"], [name]))
        return name

    weight("w1", (8, 3, 3, 3), 0.004)
    weight("w2", (8, 5), 0.01)
    nodes.append(helper.make_node("Conv", [quantized("x", "xq", 0.03), "w1"], ["c"], pads=[1, 1, 1, 1]))
    nodes.append(helper.make_node("Relu", ["c"], ["r"]))
    nodes.append(helper.make_node("GlobalAveragePool", ["r"], ["p"]))
    nodes.append(helper.make_node("Flatten", ["p"], ["f"]))
    nodes.append(helper.make_node("MatMul", [quantized("f", "fq", 0.01), "w2"], ["y"]))
    return model(nodes, [value("x", ["N", 3, 9, 9])], [value("y", ["N", 5])], weights)


def raises(text, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except octet.Error as error:
        assert text in str(error), error
        return error
    raise AssertionError(f"no error says {text}")


def check_network():
    onnx.save(network(), "net.onnx")
    session = octet.Session("net.onnx", threads=2)
    options = onnxruntime.SessionOptions()
    if saturates():  # then in float; it refuses this file with exact_options
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = onnxruntime.InferenceSession("net.onnx", options)
    x, y = session.inputs[0], session.outputs[0]
    assert (x.name, x.dtype, x.shape, x.text) == ("x", np.float32, ("N", 3, 9, 9), "f32[N, 3, 9, 9]"), x
    assert (y.name, y.shape) == ("y", ("N", 5)), y
    assert session.isa and session.threads >= 1 and session.warning == ""
    step = 0.01 * 0.01 * 127  # of one code of an activation, times the largest weight
    for batch in (1, 4, 3):
        data = random.standard_normal((batch, 3, 9, 9)).astype(np.float32)
        ours, theirs = session.run({"x": data})["y"], peer.run(None, {"x": data})[0]
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= step + 1e-6, np.abs(ours - theirs).max()
        # The same values from arrays that lie otherwise.
        turned = np.asfortranarray(data)
        spread = np.repeat(data, 2, axis=0)[::2]
        swapped = data.astype(">f4")
        lined_up = octet.empty(data.shape)
        lined_up[...] = data
        assert lined_up.ctypes.data % 64 == 0
        for other in (turned, spread, swapped, lined_up, data.tolist()):
            assert np.array_equal(session.run({"x": other})["y"], ours)
        into = np.full((batch, 5), 7, np.float32)
        assert session.run({"x": data}, out={"y": into})["y"] is into and np.array_equal(into, ours)
    with open("net.onnx", "rb") as file:
        assert np.array_equal(octet.Session(file.read()).run({"x": data})["y"], ours)
    return session


def check_views(session):
    """A context's outputs lie in its memory, which lives as long as they do."""
    data = random.standard_normal((2, 3, 9, 9)).astype(np.float32)
    context = session.context()
    first = context.run({"x": data})["y"]
    assert not first.flags.writeable and not first.flags.owndata
    kept = first.copy()
    second = context.run({"x": data * 2})["y"]
    assert second.ctypes.data == first.ctypes.data, "the output was copied"
    assert not np.array_equal(second, kept)
    context.run({"x": data})
    del context, second
    gc.collect()
    assert np.array_equal(first, kept)


def check_threads(session):
    inputs = [random.standard_normal((1 + i % 3, 3, 9, 9)).astype(np.float32) for i in range(8)]
    wanted = [session.run({"x": x})["y"] for x in inputs]
    wrong = []

    def work(i):
        for _ in range(50):
            if not np.array_equal(session.run({"x": inputs[i]})["y"], wanted[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def check_types():
    kinds = {"float32": 1, "float64": 11, "float16": 10, "int8": 3, "uint8": 2, "int16": 5, "uint16": 4, "int32": 6,
             "int64": 7, "uint32": 12, "uint64": 13, "bool": 9, "bfloat16": 16}
    import ml_dtypes
    for name, kind in kinds.items():
        dtype = np.dtype(getattr(ml_dtypes, name, name) if name == "bfloat16" else name)
        session = octet.Session(model([helper.make_node("Identity", ["x"], ["y"])], [value("x", ["A", "B"], kind)],
                                      [value("y", ["A", "B"], kind)]).SerializeToString())
        for shape in ((2, 3), (0, 4), (1, 1)):
            x = random.integers(0, 2, shape).astype(dtype)
            y = session.run({"x": x})["y"]
            assert y.dtype == dtype and y.shape == shape and np.array_equal(x, y), (name, shape)
        error = raises("the model wants", session.run, {"x": np.zeros((2, 2), "float64" if kind != 11 else "int32")})
        assert error.kind == "invalid"
    scalar = octet.Session(model([helper.make_node("Neg", ["x"], ["y"])], [value("x", [])], [value("y", [])])
                           .SerializeToString()).run({"x": np.float32(2)})["y"]
    assert scalar.shape == () and scalar == -2
    words = octet.Session(model([helper.make_node("Identity", ["x"], ["y"])], [value("x", ["A"], TensorProto.STRING)],
                                [value("y", ["A"], TensorProto.STRING)]).SerializeToString())
    for given in (["one", "", "zwölf"], np.array(["one", "", "zwölf"]), np.array(["one", "", "zwölf"], object)):
        assert words.run({"x": given})["y"].tolist() == ["one", "", "zwölf"]


def check_refusals(session):
    x = np.zeros((1, 3, 9, 9), np.float32)
    raises('input "x" is missing: f32[N, 3, 9, 9]', session.run, {})
    raises('the model has no input "z"; it has "x"', session.run, {"x": x, "z": x})
    raises('input "x": the model wants f32[N, 3, 9, 9] but got f32[1, 3, 9, 8]', session.run, {"x": x[..., :8]})
    raises('the model has no output "z"; it has "y"', session.run, {"x": x}, out={"z": x})
    raises('output "y" is float32[1, 5] but got float32[5]', session.run, {"x": x}, out={"y": np.zeros(5, np.float32)})
    raises("octet has no type for datetime64", session.run, {"x": np.zeros((1, 3, 9, 9), "datetime64[s]")})
    assert raises("none.onnx", octet.Session, "none.onnx").kind == "not found"
    raises("", octet.Session, b"no model")
    raises("mmx", octet.Session, "net.onnx", isa="mmx")
    raises("-1", octet.Session, "net.onnx", threads=-1)
    assert session.run({"x": x})["y"].shape == (1, 5)


session = check_network()
check_views(session)
check_threads(session)
check_types()
check_refusals(session)
print(f"octet {octet.version()} beside ONNX Runtime {onnxruntime.__version__}: all equal")
