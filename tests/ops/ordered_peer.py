# SPDX-License-Identifier: Apache-2.0
"""The ordered operators of com.microsoft, which ONNX Runtime runs on CUDA only. Its own optimizer writes them: here into a
BERT layer between Q and DQ. What it wrote, run by octet's reference, has to give the codes that ONNX Runtime gives for the
layer before; so has the file that octet repair makes of it for TensorRT, which octet check has to accept."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
FUSIONS = pathlib.Path(onnxruntime.__file__).parent / "transformers"
sys.path.insert(0, str(FUSIONS))
rng = np.random.default_rng(11)

BATCH, STEPS, HEADS, SIZE = 2, 16, 2, 16
HIDDEN = HEADS * SIZE


class Layer:
    """A graph that grows node by node, every activation and weight between Q and DQ with zero point 0."""

    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, value, name=None):
        self.count += 1
        name = name or f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, **attributes):
        self.count += 1
        name = f"{op}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [name + "_y"], name=name, **attributes))
        return name + "_y"

    def coded(self, x, scale):
        s, z = self.constant(np.float32(scale)), self.constant(np.int8(0))
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, s, z]), s, z])

    def weight(self, rows, columns, by_column):
        w = self.constant(rng.integers(-90, 90, size=(rows, columns)).astype(np.int8))
        if not by_column:
            return self.node("DequantizeLinear", [w, self.constant(np.float32(0.003)), self.constant(np.int8(0))])
        scales = (0.002 + 0.002 * rng.random(columns)).astype(np.float32)
        return self.node("DequantizeLinear", [w, self.constant(scales), self.constant(np.zeros(columns, np.int8))],
                         axis=1)

    def product(self, x, rows, columns, by_column):
        bias = self.constant(rng.normal(size=columns).astype(np.float32) * np.float32(0.3))
        return self.node("Add", [self.node("MatMul", [x, self.weight(rows, columns, by_column)]), bias])

    def heads(self, x, scale, order, by_column):
        values = self.coded(self.product(x, HIDDEN, HIDDEN, by_column), scale)
        apart = self.node("Reshape", [values, self.constant(np.array([0, 0, HEADS, SIZE], np.int64))])
        return self.node("Transpose", [apart], perm=order)

    def mask(self):
        axes = [self.constant(np.array([k], np.int64)) for k in (1, 2)]
        keys = self.node("Unsqueeze", [self.node("Unsqueeze", ["mask", axes[0]]), axes[1]])
        counts = self.node("Cast", [keys], to=1)
        off = self.node("Sub", [self.constant(np.float32(1)), counts])
        return self.node("Mul", [off, self.constant(np.float32(-10000))])

    def norm(self, x, scale):
        gain = self.constant((1 + 0.1 * rng.normal(size=HIDDEN)).astype(np.float32))
        beta = self.constant((0.1 * rng.normal(size=HIDDEN)).astype(np.float32))
        return self.coded(self.node("LayerNormalization", [x, gain, beta], axis=-1, epsilon=1e-5), scale)


def bert_layer(by_column):
    g = Layer()
    x = g.coded("x", 1 / 32)
    q, k = g.heads(x, 1 / 30, [0, 2, 1, 3], by_column), g.heads(x, 1 / 31, [0, 2, 3, 1], by_column)
    v = g.heads(x, 1 / 29, [0, 2, 1, 3], by_column)
    scores = g.coded(g.node("MatMul", [q, k]), 1 / 5)
    scaled = g.node("Div", [scores, g.constant(np.float32(np.sqrt(SIZE)))])
    shares = g.coded(g.node("Softmax", [g.node("Add", [scaled, g.mask()])], axis=-1), 1 / 127)
    mixed = g.coded(g.node("MatMul", [shares, v]), 1 / 40)
    joined = g.node("Reshape", [g.node("Transpose", [mixed], perm=[0, 2, 1, 3]),
                                g.constant(np.array([0, 0, HIDDEN], np.int64))])
    summed = g.node("Add", [g.product(joined, HIDDEN, HIDDEN, by_column), x])
    normed = g.norm(g.coded(summed, 1 / 25), 1 / 40)
    up = g.coded(g.product(normed, HIDDEN, 4 * HIDDEN, by_column), 1 / 30)
    active = g.coded(g.node("Gelu", [up], domain="com.microsoft"), 1 / 30)
    down = g.node("Add", [g.product(active, 4 * HIDDEN, HIDDEN, by_column), normed])
    y = g.norm(g.coded(down, 1 / 12), 1 / 40)
    g.nodes[-1].output[0] = "y"
    assert y
    graph = helper.make_graph(
        g.nodes, "layer",
        [helper.make_tensor_value_info("x", 1, [BATCH, STEPS, HIDDEN]),
         helper.make_tensor_value_info("mask", 7, [BATCH, STEPS])],
        [helper.make_tensor_value_info("y", 1, [BATCH, STEPS, HIDDEN])], g.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def ordered(model):
    """What ONNX Runtime's optimizer for transformers makes of it."""
    from fusion_attention import AttentionMask
    from fusion_options import AttentionMaskFormat
    from fusion_qordered_attention import FusionQOrderedAttention
    from fusion_qordered_gelu import FusionQOrderedGelu
    from fusion_qordered_layernorm import FusionQOrderedLayerNormalization
    from fusion_qordered_matmul import FusionQOrderedMatMul
    from onnx_model import OnnxModel

    out = OnnxModel(onnx.ModelProto.FromString(model.SerializeToString()))
    mask = AttentionMask(out)
    mask.set_mask_format(AttentionMaskFormat.AttentionMask)
    FusionQOrderedGelu(out).apply()
    FusionQOrderedLayerNormalization(out).apply()
    FusionQOrderedAttention(out, HIDDEN, HEADS, mask).apply()
    FusionQOrderedMatMul(out).apply()
    out.prune_graph()
    found = sorted(n.op_type for n in out.nodes() if n.domain == "com.microsoft")
    want = ["QOrderedAttention", "QOrderedGelu"] + 2 * ["QOrderedLayerNormalization"] + 3 * ["QOrderedMatMul"]
    assert found == want, found
    return out.model


def run_ort(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def octet(*arguments):
    done = subprocess.run([OCTET, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def run_octet(path, feeds, folder):
    command = ["run", path, "--executor", "reference", "-o", folder / "y.npz", "--force"]
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder / f'{name}.npy'}"]
    octet(*command)
    return np.load(folder / "y.npz")["y"]


def steps_apart(found, expected):
    """Steps of the output's scale: the largest, and the share of outputs that are apart at all."""
    steps = np.abs(np.rint((found - expected) * 40))
    return steps.max(), (steps > 0).mean()


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for by_column in (False, True):
            model = bert_layer(by_column)
            feeds = {"x": rng.normal(size=(BATCH, STEPS, HIDDEN)).astype(np.float32),
                     "mask": np.array([[1] * 11 + [0] * 5, [1] * STEPS], np.int64)}
            want = run_ort(model, feeds)
            onnx.save(ordered(model), folder / "ordered.onnx")
            octet("repair", folder / "ordered.onnx", "--target", "tensorrt-10", "-o", folder / "repaired.onnx",
                  "--force")
            octet("check", folder / "repaired.onnx", "--target", "tensorrt-10")
            found = {"ordered, by octet": run_octet(folder / "ordered.onnx", feeds, folder),
                     "repaired, by octet": run_octet(folder / "repaired.onnx", feeds, folder),
                     "repaired, by ONNX Runtime": run_ort(onnx.load(folder / "repaired.onnx"), feeds)}
            for what, y in found.items():
                largest, share = steps_apart(y, want)
                print(f"by column {by_column}, {what}: at most {largest:.0f} steps apart, {share:.2%} of outputs apart")
                if largest > 2 or share > 0.01:
                    failures.append(what)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
