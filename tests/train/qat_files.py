# SPDX-License-Identifier: Apache-2.0
"""What qat trains at 2, 3, 4 and 6 bits and mixed by layer, with followed and learned scales, trained clips, frozen ranges and
distillation: exported as QCDQ, ONNX Runtime answers as octet does, and the codes of each weight fit the bits that were asked for."""
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
DATA = ("--data", "generated")

# name: bits of the weights, convolutions first, and options of qat
RUNS = {
    "two": ((2, 2, 2, 2), ("--weight-bits", 2, "--activation-bits", 4, "--learned-scales", "--scale-start", "published")),
    "three": ((3, 3, 3, 3), ("--weight-bits", 3, "--activation-bits", 3, "--learned-scales")),
    "four": ((4, 4, 4, 4), ("--weight-bits", 4, "--activation-bits", 4, "--learned-clips", "--freeze-ranges-after", 0.5)),
    "six": ((6, 6, 6, 6), ("--weight-bits", 6, "--activation-bits", 6, "--teacher", "cnn.onnx", "--distill-weight", 0.7)),
    "mixed": ((8, 2, 3, 6), ("--layer", "conv2:weights=2", "fc1:weights=3,activations=4", "fc2:weights=6", "--learned-scales",
                             "--learned-clips", "--scale-start", "published", "--freeze-ranges-after", 0.7)),
}


def octet(folder, *words):
    done = subprocess.run([OCTET, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"octet {' '.join(map(str, words))}: {done.stderr}"


def weight_codes(path):
    """The bounds of the Clip behind each layer's weight; None: there is none."""
    graph = onnx.load(path).graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    made = {output: node for node in graph.node for output in node.output}
    out = []
    for user in (n for n in graph.node if n.op_type in ("Conv", "Gemm", "MatMul")):
        node, bounds = made.get(user.input[1]), None
        while node is not None:
            if node.op_type == "Clip":
                bounds = tuple(int(constants[b].item()) for b in node.input[1:3])
            node = made.get(node.input[0])
        out.append(bounds)
    assert len(out) == 4, out
    return out


def main():
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        octet(folder, "train", "cnn", *DATA, "--steps", 60, "--seed", 1, "--no-checkpoint", "--no-validation", "-o", "cnn.onnx")
        x = random.uniform(-1, 2, (200, 1, 28, 28)).astype(np.float32)
        x = np.clip((x + np.roll(x, 1, 2) + np.roll(x, 1, 3)) / 2, 0, 1)  # images, not noise alone
        np.save(folder / "x.npy", x)
        session = onnxruntime.SessionOptions()
        session.log_severity_level = 3
        session.add_session_config_entry("session.x64quantprecision", "1")
        for run, (bits, words) in RUNS.items():
            octet(folder, "qat", "cnn.onnx", *DATA, "--samples", 64, "--steps", 20, "--batch", 64, "--no-checkpoint",
                  "--no-validation", *words, "-o", f"{run}.onnx")
            octet(folder, "export", f"{run}.onnx", "--form", "qcdq", "-o", f"{run}.qcdq.onnx")
            path = folder / f"{run}.qcdq.onnx"
            for bounds, width in zip(weight_codes(path), bits):
                assert width == 8 or bounds is not None and bounds[1] - bounds[0] < 2 ** width, (run, bounds, width)
            octet(folder, "run", f"{run}.onnx", "--input", "x=x.npy", "--output", f"{run}.npz")
            ours = next(iter(np.load(folder / f"{run}.npz").values()))
            theirs = onnxruntime.InferenceSession(str(path), session, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
            same = ours.argmax(1) == theirs.argmax(1)
            # Near a tie of two codes the float sums of the two part by a step; a class then is one of two equals.
            rest = np.sort(theirs[~same], axis=1)
            assert same.mean() >= 0.99 and np.all(rest[:, -1] - rest[:, -2] <= 2 / 128), (run, same.mean(), rest)
            print(f"{run}: {same.sum()} of {same.size} answers are ONNX Runtime's")


main()
