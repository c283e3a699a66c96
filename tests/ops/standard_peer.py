# SPDX-License-Identifier: Apache-2.0
"""Rarer forms of standard operators, by the native and the reference executor, against ONNX Runtime."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
MICROSOFT = "com.microsoft"
rng = np.random.default_rng(3)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


def node(op, inputs, domain="", outputs=1, **attributes):
    names = [n for n, v in zip("abcd", inputs) if v is not None]
    return [helper.make_node(op, names, [f"y{k}" for k in range(outputs)], domain=domain, **attributes)]


def layer_normalizations():
    """Gains and biases of every shape that broadcasts, constant and computed; stash types; statistics."""
    x = f32(2, 3, 4)
    for shape in [(4,), (1, 4), (1, 1, 4), (3, 4), (1, 3, 4), (2, 3, 4), (3, 1), (2, 1, 1), (1, 1, 1), (1,), ()]:
        for inputs in ([x, f32(*shape)], [x, f32(4), f32(*shape)], [x, f32(*shape), f32(1, 1, 4)]):
            yield node("LayerNormalization", inputs), inputs, {}
            yield node("LayerNormalization", inputs), inputs, {"computed": True}
            yield node("LayerNormalization", inputs), inputs, {"open": True}
    for shape in [(3, 4), (1, 3, 4), (4,), (3, 1)]:
        inputs = [x, f32(*shape), f32(*shape)]
        yield node("LayerNormalization", inputs, axis=1), inputs, {}
    for stash in (0, 1):
        inputs = [x, f32(4)]
        yield node("LayerNormalization", inputs, stash_type=stash), inputs, {}
        yield node("LayerNormalization", inputs, outputs=3, stash_type=stash), inputs, {}
        inputs = [v.astype(np.float16) for v in inputs]
        yield node("LayerNormalization", inputs, stash_type=stash), inputs, {"tolerance": 2e-3}


def shrinks():
    for kind in "bhilBHILefd":
        values = np.array([0, 1, 2, 3, 100, 127] if np.dtype(kind).kind == "u"
                          else [-128, -100, -3, -2, -1, 0, 1, 2, 3, 127], kind)
        for bias, lambd in [(1.5, 1.5), (0.0, 0.5), (2.0, -1.0), (0.5, 0.5), (0.5, 2.5)]:
            yield node("Shrink", [values], bias=bias, lambd=lambd), [values], {}


def resizes():
    x = f32(2, 3, 4, 5)
    for nearest in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        for scales in [(1, 1, 2, 2), (1, 1, 0.5, 4), (1, 1, 4, 0.5), (1, 1, 1, 1), (1, 1, 1, 2)]:
            inputs = [x, np.zeros(0, np.float32), np.array(scales, np.float32)]
            yield node("Resize", inputs, coordinate_transformation_mode="tf_half_pixel_for_nn", mode="nearest",
                       nearest_mode=nearest), inputs, {"opset": 11}
    for sizes in [(2, 3, 7, 3), (2, 3, 1, 9), (2, 3, 8, 10)]:
        inputs = [x, np.zeros(0, np.float32), np.zeros(0, np.float32), np.array(sizes, np.int64)]
        yield node("Resize", inputs, coordinate_transformation_mode="tf_half_pixel_for_nn", mode="nearest",
                   nearest_mode="floor"), inputs, {"opset": 12}


def gelus():
    """ONNX Runtime's take a bias of one axis only; octet's takes what broadcasts: the sum before the operator."""
    for op, own in [("FastGelu", "FastGelu"), ("BiasGelu", "Gelu")]:
        x = f32(2, 3, 4)
        for shape in [(4,), (1, 4), (3, 4), (1, 1, 4), (2, 3, 4), (3, 1), (1,), ()]:
            inputs = [x, f32(*shape)]
            alone = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node(own, ["s"], ["y0"], domain=MICROSOFT)]
            yield node(op, inputs, MICROSOFT), inputs, {"theirs": alone}


def windows():
    """Windows wholly in the padding, and automatic padding where the stride is longer than the kernel."""
    for size, dilation in [(1, 2), (2, 3), (3, 4)]:
        for counted in (0, 1):
            inputs = [f32(1, 2, size, 5)]
            yield node("AveragePool", inputs, kernel_shape=[2, 2], dilations=[dilation, 1], pads=[1, 1, 1, 0],
                       count_include_pad=counted), inputs, {"opset": 19}
        yield node("LpPool", inputs, kernel_shape=[2, 2], dilations=[dilation, 1], pads=[1, 1, 1, 0]), inputs, \
            {"opset": 18}
    for pad in ("SAME_UPPER", "SAME_LOWER"):
        for size, kernel, stride in [(5, 1, 2), (6, 1, 4), (7, 2, 5), (8, 2, 4), (7, 3, 2), (5, 4, 3)]:
            x, both = f32(1, 2, size, 6), [kernel, kernel]
            inputs = [x, f32(2, 2, *both)]
            yield node("Conv", inputs, auto_pad=pad, strides=[stride, stride]), inputs, {}
            for more in ({}, {"output_padding": [min(stride, 2) - 1] * 2}, {"dilations": [1, 2]}):
                yield node("ConvTranspose", inputs, auto_pad=pad, strides=[stride, stride], **more), inputs, {}
            if (stride - kernel) < 2:
                yield node("AveragePool", inputs[:1], auto_pad=pad, strides=[stride, stride], kernel_shape=both), \
                    inputs[:1], {"opset": 19}
    inputs = [f32(1, 2, 4, 4), f32(2, 2, 3, 3)]
    for pad in ({}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}):
        for shape in ([7, 8], [8, 9], [6, 7]):
            yield node("ConvTranspose", inputs, strides=[2, 2], output_shape=shape, **pad), inputs, {}


def model_of(nodes, inputs, computed, opened, opset):
    values = [(n, v) for n, v in zip("abcd", inputs) if v is not None]
    fed = values if computed else values[:1]
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype),
                                           [None] * v.ndim if opened else v.shape) for n, v in fed]
    kind = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    outputs = [helper.make_tensor_value_info(n, kind if n == "y0" else onnx.TensorProto.FLOAT, None)
               for n in nodes[-1].output]
    constants = [onnx.numpy_helper.from_array(v, n) for n, v in values if n not in dict(fed)]
    return helper.make_model(helper.make_graph(nodes, "peer", infos, outputs, constants), ir_version=8,
                             opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])


def differences(nodes, inputs, folder, tolerance=1e-5, computed=False, open=False, opset=17, theirs=None):
    model = model_of(nodes, inputs, computed, open, opset)
    feeds = {i.name: dict(zip("abcd", inputs))[i.name] for i in model.graph.input}
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "in.npz", **feeds)
    asked = model if theirs is None else model_of(theirs, inputs, computed, open, opset)
    want = onnxruntime.InferenceSession(asked.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    for executor in ("native", "reference"):
        ran = subprocess.run([OCTET, "run", folder / "m.onnx", "--inputs", folder / "in.npz", "-o", folder / "out.npz",
                              "--force", "--executor", executor, "--threads", "1"], capture_output=True, text=True)
        if ran.returncode != 0:
            yield f"{executor}: {ran.stderr.strip()}"
            continue
        with np.load(folder / "out.npz") as got:
            for name, value in zip((o.name for o in model.graph.output), want):
                mine = got[name]
                if mine.shape != value.shape or mine.dtype != value.dtype:
                    yield f"{executor}: {name} is {mine.dtype}{mine.shape}, not {value.dtype}{value.shape}"
                elif not np.allclose(mine.astype(np.float64), value.astype(np.float64), tolerance, tolerance):
                    yield f"{executor}: {name} differs by {np.abs(mine.astype(np.float64) - value).max()}"


def main():
    ran, failures = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        for cases in (layer_normalizations, shrinks, resizes, gelus, windows):
            for nodes, inputs, options in cases():
                ran += 1
                attributes = {a.name: helper.get_attribute_value(a) for a in nodes[0].attribute}
                about = f"{nodes[0].op_type} {[f'{v.dtype}{v.shape}' for v in inputs]} {attributes} " \
                        f"{ {k: v for k, v in options.items() if k != 'theirs'} }"
                failures += [f"{about}: {d}" for d in differences(nodes, inputs, pathlib.Path(temporary), **options)]
    print("\n".join(failures[:30]))
    print(f"{ran} models, {len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
