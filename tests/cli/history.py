# SPDX-License-Identifier: Apache-2.0
"""What octet did to a model stands in its metadata: hashes of files as they lie there, the same bytes for the same inputs (docs/lock.md)."""
import hashlib
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(os.environ["OCTET_SOURCE_DIR"]) / "tests" / "support"))
from octet_command import octet  # noqa: E402

KEY = "octet.history"


def in_metadata(path):
    found = [p.value for p in onnx.load(path).metadata_props if p.key == KEY]
    assert len(found) == 1, f"{path}: {len(found)} entries {KEY}"
    return json.loads(found[0])


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def quantized(folder, name, model, *options):
    octet("quantize", model, "--samples", "20", *options, "-o", folder / name)
    return folder / name


def steps_of(folder):
    trained, codes, other = folder / "cnn.onnx", folder / "int8.onnx", folder / "other.onnx"
    octet("train", "cnn", "--data", "generated", "--steps", "5", "--seed", "3", "-o", trained)
    quantized(folder, "int8.onnx", trained, "--data", "generated", "--target", "tensorrt-10", "--save-plan", folder / "plan.json")
    octet("export", codes, "--form", "qoperator", "--target", "onnxruntime", "-o", other)
    steps = in_metadata(other)
    assert [s["command"] for s in steps] == ["train cnn", "quantize", "export"], steps
    assert steps[:2] == in_metadata(codes) and steps[:1] == in_metadata(trained)
    version = octet("--version").split()[1]
    assert all(s["octet"] == version for s in steps), steps
    assert steps[0]["seed"] == 3 and steps[0]["steps"] == 5 and "from" not in steps[0], steps[0]
    assert steps[1]["from"]["sha256"] == sha256(trained) and steps[2]["from"]["sha256"] == sha256(codes), steps
    assert steps[1]["target"] == "tensorrt-10" and steps[1]["data"]["examples"] == 20, steps[1]
    assert str(folder) not in json.dumps(steps), "a path is in the history"
    shown = json.loads(octet("inspect", other, "--json"))["history"]
    assert shown == steps, shown
    said = {p.key: p.value for p in onnx.load(other).metadata_props if p.key != "octet.history"}
    assert said and json.loads(octet("inspect", other, "--json"))["metadata"] == said, said
    lines = [line for line in octet("inspect", other).splitlines() if line.startswith("made by")]
    assert len(lines) == 3 and "export" in lines[2] and steps[2]["from"]["sha256"] in lines[2], lines
    return trained, codes


def training_data_are_hashed(folder):
    """The content, and not what names it: neither the seed of the weights, nor the checkpoint that asks for it anyway."""
    def trained(name, *options):
        output = folder / f"{name}.onnx"
        octet("train", "cnn", "--data", "generated", "--steps", "2", *options, "-o", output)
        return output
    first = trained("first", "--seed", "3")
    data = in_metadata(first)[0]["data"]
    assert data["examples"] > 0 and re.fullmatch("[0-9a-f]{16}", data["content"]) and data["description"], data
    assert trained("twin", "--seed", "3", "--no-checkpoint").read_bytes() == first.read_bytes(), "a checkpoint shows in the file"
    assert in_metadata(trained("seed", "--seed", "4"))[0]["data"] == data
    octet("qat", first, "--data", "generated", "--samples", "20", "--steps", "2", "-o", folder / "qat.onnx")
    step = in_metadata(folder / "qat.onnx")[-1]
    assert step["data"] == data and step["quantization"]["data"]["content"] != data["content"], step


def bytes_of_the_examples_count(folder):
    """One changed number or label among as many examples is another content."""
    (folder / "net.txt").write_text('graph net opset(""=17)\ninput x: f32[N, 4]\nconst w: f32[4, 3] = init\n'
                                    "y = MatMul(x, w)\noutput y: f32[N, 3]\n")
    x = np.arange(400, dtype=np.float32).reshape(100, 4) / 400
    y = np.arange(100) % 3
    other_x, other_y = x.copy(), y.copy()
    other_x[77, 2] += 1
    other_y[77] = (y[77] + 1) % 3
    found = []
    for name, train_x, train_y in (("same", x, y), ("equal", x, y), ("x", other_x, y), ("y", x, other_y)):
        np.savez(folder / f"{name}.npz", x_train=train_x, y_train=train_y, x_test=x, y_test=y)
        octet("train", folder / "net.txt", "--data", f"npz:{folder / name}.npz", "--steps", "2", "-o", folder / f"net-{name}.onnx")
        found.append(in_metadata(folder / f"net-{name}.onnx")[0]["data"])
    assert found[0] == found[1] and len({data["content"] for data in found}) == 3, found
    assert {data["examples"] for data in found} == {100}, found


def same_inputs_same_bytes(folder, trained, codes):
    again = quantized(folder, "again.onnx", trained, "--data", "generated", "--target", "tensorrt-10", "--batch", "3", "--threads", "1")
    assert again.read_bytes() == codes.read_bytes(), "batch and threads show in the file"
    planned = quantized(folder, "planned.onnx", trained, "--plan", folder / "plan.json")
    assert planned.read_bytes() == codes.read_bytes(), "a saved plan gives another file"
    fewer = folder / "fewer.onnx"
    octet("quantize", trained, "--data", "generated", "--samples", "19", "--target", "tensorrt-10", "-o", fewer)
    assert in_metadata(fewer)[1]["data"]["content"] != in_metadata(codes)[1]["data"]["content"]


def external_weights_count(folder, trained):
    """Weights beside the file are in the hash of the content, which the file's own hash leaves out."""
    model = onnx.load(trained)
    onnx.save(model, folder / "apart.onnx", save_as_external_data=True, location="apart.data", size_threshold=16)
    octet("simplify", folder / "apart.onnx", "-o", folder / "s1.onnx")
    data = bytearray((folder / "apart.data").read_bytes())
    data[5] ^= 1
    (folder / "apart.data").write_bytes(data)
    octet("simplify", folder / "apart.onnx", "-o", folder / "s2.onnx")
    first, second = (in_metadata(folder / f"s{i}.onnx")[-1]["from"] for i in (1, 2))
    assert first["sha256"] == second["sha256"] and first["content"] != second["content"], (first, second)


def damaged_begins_anew(folder, trained):
    for i, text in enumerate(("no JSON", "{}", "[1]", "[" * 1000)):
        model = onnx.load(trained)
        for p in model.metadata_props:
            if p.key == KEY:
                p.value = text
        onnx.save(model, folder / f"damaged{i}.onnx")
        octet("inspect", folder / f"damaged{i}.onnx")
        octet("simplify", folder / f"damaged{i}.onnx", "-o", folder / f"mended{i}.onnx")
        assert [s["command"] for s in in_metadata(folder / f"mended{i}.onnx")] == ["simplify"]


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    files = steps_of(place)
    training_data_are_hashed(place)
    bytes_of_the_examples_count(place)
    same_inputs_same_bytes(place, *files)
    external_weights_count(place, files[0])
    damaged_begins_anew(place, files[0])
