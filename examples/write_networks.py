# SPDX-License-Identifier: Apache-2.0
"""Writes two networks as PyTorch exports them, with random weights, and data for them: a residual CNN of ten classes and
images of four (resnet.onnx, images.npz), and an MLP of one output and prices (mlp.onnx, prices.npz). docs/walkthroughs.md
trains them. Wants numpy and onnx."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(0)
nodes, weights = [], []


def weight(name, *shape):
    scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0
    weights.append(numpy_helper.from_array((scale * rng.standard_normal(shape)).astype(np.float32), name))
    return name


def node(kind, inputs, name, **attributes):
    nodes.append(helper.make_node(kind, inputs, [name], f"/{name}", **attributes))
    return name


def convolution(x, name, channels_in, channels_out):
    """Conv and BatchNormalization."""
    x = node("Conv", [x, weight(f"{name}.conv.weight", channels_out, channels_in, 3, 3)], f"{name}.conv", pads=[1] * 4)
    norm = []
    for part, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
        norm.append(f"{name}.norm.{part}")
        weights.append(numpy_helper.from_array(np.full(channels_out, value, np.float32), norm[-1]))
    return node("BatchNormalization", [x, *norm], f"{name}.norm")


def dense(x, name, inputs, outputs):
    return node("Gemm", [x, weight(f"{name}.weight", outputs, inputs), weight(f"{name}.bias", outputs)], name, transB=1)


def save(path, name, shape, output, width):
    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])
    graph = helper.make_graph(nodes, "main_graph", [value(name, shape)], [value(output, [width])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    nodes.clear()
    weights.clear()


x = node("Relu", [convolution("image", "stem", 3, 16)], "stem")
for block in ("block1", "block2"):
    y = node("Relu", [convolution(x, f"{block}.1", 16, 16)], f"{block}.relu")
    x = node("Relu", [node("Add", [convolution(y, f"{block}.2", 16, 16), x], f"{block}.sum")], block)
x = node("Flatten", [node("GlobalAveragePool", [x], "pool")], "flat")
save("resnet.onnx", "image", [3, 16, 16], dense(x, "fc", 16, 10), 10)
x = node("Tanh", [dense("features", "layer1", 6, 32)], "tanh")
x = node("Relu", [dense(x, "layer2", 32, 16)], "relu")
save("mlp.onnx", "features", [6], dense(x, "price", 16, 1), 1)


def images(count):
    """Waves across, down, aslant and both ways, under noise."""
    y, at = rng.integers(0, 4, count), np.arange(16)
    x = 0.4 * rng.standard_normal((count, 3, 16, 16))
    for image, kind in zip(x, y):
        start = rng.uniform(0, 6)
        across, down = np.sin(at + start)[None, :], np.sin(at + start)[:, None]
        image += (across, down, np.sin(at[None, :] + at[:, None] + start), across * down)[kind]
    return x.astype(np.float32), y


def prices(count):
    x = rng.standard_normal((count, 6))
    y = 300 + 50 * x[:, 0] - 20 * x[:, 1] * x[:, 2] + 30 * np.abs(x[:, 3]) + 3 * rng.standard_normal(count)
    return x.astype(np.float32), y.astype(np.float32)


for path, name, make, sizes in (("images.npz", "image", images, (480, 120)), ("prices.npz", "features", prices, (800, 200))):
    (x, y), (test_x, test_y) = (make(size) for size in sizes)
    np.savez(path, **{f"{name}_train": x, "y_train": y, f"{name}_test": test_x, "y_test": test_y})
