# SPDX-License-Identifier: Apache-2.0
"""octet lock and verify: what changed is named, and instruction sets, threads and batches change nothing (docs/lock.md)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
problems = []


def octet(*arguments, isa=""):
    environment = {**os.environ, **({"OCTET_ISA": isa} if isa else {})}
    return subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False)


def expect(what, done, status, *words):
    if done.returncode != status or any(word not in done.stdout + done.stderr for word in words):
        problems.append(f"{what}: exit {done.returncode}, wanted {status} and {words}:\n{done.stdout}{done.stderr}")
    return done


def edited(path, to, edit):
    model = onnx.load(path)
    edit(model)
    onnx.save(model, to)
    return to


def constants(model):
    return {t.name: t for t in model.graph.initializer}


def change(name, f):
    """Of a model: the constant becomes f of itself."""
    def edit(model):
        tensor = constants(model)[name]
        tensor.CopyFrom(numpy_helper.from_array(f(numpy_helper.to_array(tensor)), name))
    return edit


def flip(array):
    out = array.copy()
    out.reshape(-1)[out.size // 2] += 3
    return out


def doubled(array):
    return (array * 2).astype(array.dtype)


def check_broken(folder, model, lock):
    """A changed model that does not run is a difference, told with the node; ONNX Runtime does not run it either."""
    inputs = {v.name: np.zeros([1 if isinstance(d, str) else d for d in v.shape], np.float32)
              for v in onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs()}

    def shorter(model):  # no product fits it
        weight = next(t for t in model.graph.initializer if len(t.dims) == 4)
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight)[:, :, :, :0], weight.name))

    def beyond(model):  # known when it runs alone
        output = model.graph.output[0]
        model.graph.initializer.append(numpy_helper.from_array(np.array([99]), "ninety-nine"))
        last = next(n for n in model.graph.node if output.name in n.output)
        last.output[:] = ["before"]
        model.graph.node.append(onnx.helper.make_node("Gather", ["before", "ninety-nine"], [output.name], name="picks", axis=1))
        del output.type.tensor_type.shape.dim[:]
        output.type.tensor_type.ClearField("shape")

    def renamed(model):
        name = model.graph.input[0].name
        model.graph.input[0].name = "other"
        for each in model.graph.node:
            each.input[:] = ["other" if n == name else n for n in each.input]

    for what, edit, words in (("a weight of no size", shorter, ("does not run, as the locked model did", "node")),
                              ("an index beyond", beyond, ("does not run, as the locked model did", "picks", "99")),
                              ("another input", renamed, ("does not run, as the locked model did", "other"))):
        broken = edited(model, folder / "broken.onnx", edit)
        try:
            onnxruntime.InferenceSession(broken, providers=["CPUExecutionProvider"]).run(None, inputs)
            problems.append(f"{what}: ONNX Runtime runs it")
        except Exception:  # its errors have no common class
            pass
        for extra in ([], ["--batch", "1"], ["--data", "generated"]):
            expect(f"{what} {extra}", octet("verify", lock, "--model", broken, *extra), 1, *words)
        said = json.loads(octet("verify", lock, "--model", broken, "--json").stdout)
        if said["same"] or words[0] not in said["results"][0]:
            problems.append(f"{what}: {said}")
    (folder / "torn.onnx").write_bytes(model.read_bytes()[:100])
    expect("a torn file", octet("verify", lock, "--model", folder / "torn.onnx"), 2, "torn.onnx")


def main(folder):
    expect("train", octet("train", "cnn", "--data", "generated", "--steps", "120", "-o", folder / "cnn.onnx"), 0)
    expect("quantize", octet("quantize", folder / "cnn.onnx", "--data", "generated", "-o", folder / "cnn.int8.onnx"), 0)
    model, lock = folder / "cnn.int8.onnx", folder / "cnn.lock.json"
    expect("lock", octet("lock", model, "--data", "generated", "--limit", "200", "-o", lock), 0, "parts", "accuracy")
    expect("not over it", octet("lock", model, "--data", "generated", "-o", lock), 2, "--force")

    for isa in ("", "scalar", "avx2", "avx512", "avx512vnni", "amxint8"):
        done = octet("verify", lock, isa=isa)
        if "is not supported by this machine" not in done.stderr:
            expect(f"with {isa}", done, 0, "nothing changed")
    for extra in (["--threads", "2"], ["--batch", "1"], ["--batch", "3"], ["--data", "generated"]):
        expect(f"with {extra}", octet("verify", lock, *extra), 0, "nothing changed")

    names = constants(onnx.load(model))
    weight = max(names, key=lambda n: np.prod(names[n].dims, dtype=int))
    quantizer = next(n for n in onnx.load(model).graph.node if n.op_type == "QuantizeLinear" and n.input[0] not in names)
    expect("a weight", octet("verify", lock, "--model", edited(model, folder / "weight.onnx", change(weight, flip))), 1,
           f"const {weight}", "is another")
    done = expect("a scale", octet("verify", lock, "--model", edited(model, folder / "scale.onnx", change(quantizer.input[1], doubled))), 1,
                  "scale of QuantizeLinear", "elements differ", "first value that differs")
    if quantizer.input[1] not in done.stdout:
        problems.append(f"a scale: {quantizer.input[1]} is not named: {done.stdout}")
    answer = octet("verify", lock, "--model", folder / "scale.onnx", "--json")
    said = json.loads(answer.stdout)
    if answer.returncode != 1 or said["same"] or len(said["model"]) != 1 or not said["results"]:
        problems.append(f"json: {answer.stdout}")

    def without_relu(model):
        node = next(n for n in model.graph.node if n.op_type == "Relu")
        node.op_type = "LeakyRelu"
    expect("a node", octet("verify", lock, "--model", edited(model, folder / "node.onnx", without_relu)), 1, "is another")

    def without_output(model):
        del model.graph.output[:]
        model.graph.output.append(onnx.helper.make_tensor_value_info(quantizer.output[0], onnx.TensorProto.UINT8, None))
    for extra in ([], ["--batch", "1"]):
        expect("another output", octet("verify", lock, "--model", edited(model, folder / "output.onnx", without_output), *extra), 1, "there is no output")
    check_broken(folder, model, lock)

    # Another runtime's numbers, as they are and with what another rounding would make of one.
    expect("inputs", octet("verify", lock, "--inputs-to", folder / "x.npz"), 0)
    arrays = np.load(folder / "cnn.lock.npz")
    inputs = dict(np.load(folder / "x.npz"))
    for name, value in inputs.items():
        if not np.array_equal(value, arrays[f"inputs/{name}"]):
            problems.append(f"input {name} is not the lock's")
    locked = {name.removeprefix("outputs/"): arrays[name] for name in arrays.files if name.startswith("outputs/")}
    np.savez(folder / "same.npz", **locked)
    expect("the same elsewhere", octet("verify", lock, "--outputs", folder / "same.npz"), 0, "nothing changed")
    (name, value), = locked.items()
    moved = value.copy()
    moved[1, 2] = np.nextafter(moved[1, 2], np.float32(np.inf))
    np.savez(folder / "moved.npz", **{name: moved})
    expect("another rounding", octet("verify", lock, "--outputs", folder / "moved.npz"), 1, f"1 of {value.size} elements", "[1, 2]")
    theirs, = onnxruntime.InferenceSession(folder / "cnn.onnx", providers=["CPUExecutionProvider"]).run(None, inputs)
    np.savez(folder / "float.npz", **{name: theirs})
    count = int((theirs != value).sum())
    expect("float", octet("verify", lock, "--outputs", folder / "float.npz"), 1, f"{count} of {value.size} elements differ")
    np.savez(folder / "few.npz", **{name: value[:2]})
    expect("fewer", octet("verify", lock, "--outputs", folder / "few.npz"), 2, "locked")

    # Another version, and files that are not what they were.
    text = lock.read_text()
    said = json.loads(text)
    (folder / "old.lock.json").write_text(text.replace(f'"octet": "{said["octet"]}"', '"octet": "0.0.1"'))
    (folder / "old.lock.npz").write_bytes((folder / "cnn.lock.npz").read_bytes())
    expect("another version", octet("verify", folder / "old.lock.json"), 0, "made by octet 0.0.1", "nothing changed")
    (folder / "later.lock.json").write_text(text.replace('"octet_lock": 1', '"octet_lock": 2'))
    expect("a later form", octet("verify", folder / "later.lock.json"), 2, "form 2")
    (folder / "no.lock.json").write_text("{}")
    expect("no lock", octet("verify", folder / "no.lock.json"), 2, "no lock")
    np.savez(folder / "old.lock.npz", **{**{n: arrays[n] for n in arrays.files}, f"outputs/{name}": moved})
    expect("arrays of another", octet("verify", folder / "old.lock.json"), 2, "not the one that it was written with")
    os.remove(model)
    expect("no model", octet("verify", lock), 2, "--model")

    # A batch where the model fixes its own.
    def fixed(model):
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    expect("fixed", octet("lock", edited(folder / "cnn.onnx", folder / "fixed.onnx", fixed), "-o", folder / "fixed.lock.json"), 0)
    expect("its batch", octet("verify", folder / "fixed.lock.json", "--batch", "4"), 0, "nothing changed")
    expect("a smaller batch", octet("verify", folder / "fixed.lock.json", "--batch", "1"), 2, "no open first axis")

    # Without data, and what has no common first axis.
    expect("random", octet("lock", folder / "cnn.onnx", "-o", folder / "random.lock.json"), 0)
    expect("random again", octet("verify", folder / "random.lock.json", "--json"), 0, '"same": true')


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
print("\n".join(problems))
sys.exit(bool(problems))
