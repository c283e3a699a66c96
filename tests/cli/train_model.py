# SPDX-License-Identifier: Apache-2.0
"""octet train MODEL: textual graphs and ONNX files of others, three losses, a new head, batch norm, what is written and predicted
beside ONNX Runtime, losses and scores beside NumPy, what is said of labels, and the same bits each time."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import numpy as np
import onnx
import onnxruntime
from exact_products import exact_options
from octet_command import OCTET, octet, refused
from onnx import TensorProto, helper, numpy_helper

NET = """graph net opset(""=17)
input x: f32[N, 8]
const w1: f32[8, 24] = init
const b1: f32[24] = init
const w2: f32[24, {out}] = init xavier
const b2: f32[{out}] = init zeros
h = MatMul(x, w1)
a = Add(h, b1)
r = Relu(a)
l = Gemm(r, w2, b2)
output l: f32[N, {out}]
"""
QUICK = ["--epochs", "12", "--lr", "0.02", "--threads", "1", "--seed", "3", "--batch", "32"]


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 8)).astype(np.float32)
    turn = rng.normal(size=(8, 3)).astype(np.float32)
    scores = x @ turn
    parts = {"x_train": x[:500], "x_test": x[500:]}
    for name, y in (("classes", scores.argmax(1)), ("many", (scores > 0).astype(np.int64)), ("numbers", (0.5 * scores).astype(np.float32)),
                    ("one", (scores[:, 0] > 0).astype(np.int64)), ("five", np.abs(scores).sum(1).astype(np.int64) % 5)):
        np.savez(f"{name}.npz", y_train=y[:500], y_test=y[500:], **parts)
    return x[500:], scores[500:]


def run(path, x, name="x"):
    session = onnxruntime.InferenceSession(path, exact_options(), providers=["CPUExecutionProvider"])
    theirs = session.run(None, {name: x})[0]
    np.savez("in.npz", **{name: x})
    octet("run", path, "--inputs", "in.npz", "-o", "out.npz", "--force")
    ours = next(iter(np.load("out.npz").values()))
    assert np.abs(ours - theirs).max() < 1e-4 * max(1, np.abs(theirs).max()), path
    return theirs


def scores_of(path, dataset):
    return json.loads(octet("eval", path, "--data", f"npz:{dataset}.npz", "--latency-runs", "0", "--json"))[0]


def losses(x, scores):
    """Classes, several classes at once, one, numbers: learned from text, and scored as NumPy scores them."""
    pathlib.Path("net3.txt").write_text(NET.format(out=3))
    pathlib.Path("net1.txt").write_text(NET.format(out=1))
    octet("train", "net3.txt", "--data", "npz:classes.npz", *QUICK, "-o", "classes.onnx")
    right = (run("classes.onnx", x).argmax(1) == scores.argmax(1)).mean()
    assert right > 0.9 and abs(scores_of("classes.onnx", "classes")["accuracy"] - right) < 1e-9, right

    octet("train", "net3.txt", "--data", "npz:many.npz", "--loss", "binary-cross-entropy", *QUICK, "-o", "many.onnx")
    said, wanted = run("many.onnx", x) > 0, scores > 0
    e = scores_of("many.onnx", "many")
    assert abs(e["accuracy"] - (said == wanted).mean()) < 1e-9 and e["accuracy"] > 0.9, e
    assert abs(e["exact"] - (said == wanted).all(1).mean()) < 1e-9
    f1 = [2 * (said & wanted)[:, c].sum() / (said[:, c].sum() + wanted[:, c].sum()) for c in range(3)]
    assert abs(e["macro_f1"] - np.mean(f1)) < 1e-9, (e, f1)
    assert abs(e["micro_f1"] - 2 * (said & wanted).sum() / (said.sum() + wanted.sum())) < 1e-9

    octet("train", "net3.txt", "--data", "npz:numbers.npz", "--loss", "mse", *QUICK, "-o", "numbers/")
    gap = run("numbers/model.onnx", x) - 0.5 * scores
    e = scores_of("numbers/", "numbers")
    assert abs(e["mean_square_error"] - (gap**2).mean()) < 1e-5 and abs(e["mean_absolute_error"] - np.abs(gap).mean()) < 1e-5, e
    spread = (0.5 * scores - 0.5 * scores.mean(0)) ** 2
    assert abs(e["r2"] - (1 - (gap**2).sum() / spread.sum())) < 1e-4 and e["r2"] > 0.9, e
    record = json.loads(pathlib.Path("numbers/training.json").read_text())
    assert record["epochs"][-1]["train_absolute_error"] < record["epochs"][0]["train_absolute_error"], record["epochs"]
    assert abs(record["epochs"][-1]["validation_loss"] - (gap**2).mean()) < 1e-4

    octet("train", "net1.txt", "--data", "npz:one.npz", *QUICK, "-o", "one.onnx")  # one column: yes or no
    right = ((run("one.onnx", x)[:, 0] > 0) == (scores[:, 0] > 0)).mean()
    assert right > 0.9 and abs(scores_of("one.onnx", "one")["accuracy"] - right) < 1e-9, right


def predicted(path, dataset, *more):
    return [json.loads(line) for line in octet("predict", path, "--data", f"npz:{dataset}.npz", "--json", *more).splitlines()]


def sigmoid(v):
    return 1 / (1 + np.exp(-v.astype(float)))


def predictions(x, scores):
    """Numbers as such, one column as yes or no, several classes each by itself: as ONNX Runtime computes them."""
    wanted = run("numbers/model.onnx", x)
    rows = predicted("numbers/", "numbers")
    np.testing.assert_allclose([r["predicted"] for r in rows], wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose([r["label"] for r in rows], 0.5 * scores, rtol=1e-6)
    assert sorted(rows[0]) == ["index", "label", "predicted"]
    octet("predict", "numbers/", "--data", "npz:numbers.npz", "-o", "p.npz")
    octet("predict", "numbers/", "--data", "npz:numbers.npz", "-o", "p.csv")
    with np.load("p.npz") as arrays:
        assert sorted(arrays) == ["index", "label", "predicted"]
        np.testing.assert_allclose(arrays["predicted"], wanted, rtol=1e-4, atol=1e-4)
    table = pathlib.Path("p.csv").read_text().splitlines()
    assert table[0] == "index,label 0,label 1,label 2,predicted 0,predicted 1,predicted 2" and len(table) == 101, table[:2]
    np.testing.assert_allclose([[float(v) for v in line.split(",")[4:]] for line in table[1:]], wanted, rtol=1e-4, atol=1e-4)
    for form in ("npz", "csv", "jsonl"):
        octet("eval", "numbers/", "--data", "npz:numbers.npz", "--batch", "33", "--latency-runs", "0", "--save-predictions", f"e.{form}")
    with np.load("e.npz") as arrays:
        assert sorted(arrays) == ["index", "label", "predicted"] and arrays["predicted"].shape == (100, 3)
        np.testing.assert_allclose(arrays["predicted"], wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(arrays["label"], 0.5 * scores, rtol=1e-6)
        np.testing.assert_array_equal(arrays["index"], np.arange(100))
        of_eval = json.loads(octet("eval", "numbers/", "--data", "npz:numbers.npz", "--latency-runs", "0", "--json"))[0]
        np.testing.assert_allclose(((arrays["predicted"] - arrays["label"]) ** 2).mean(), of_eval["mean_square_error"], rtol=1e-5)
    assert pathlib.Path("e.csv").read_text() == pathlib.Path("p.csv").read_text()
    assert [json.loads(line) for line in pathlib.Path("e.jsonl").read_text().splitlines()] == rows
    refused("octet predict --data writes their probabilities", "eval", "many.onnx", "--data", "npz:many.npz", "--save-predictions", "z.npz")
    refused("--report is of classifiers", "eval", "numbers/", "--data", "npz:numbers.npz", "--report", "z.html")
    said = octet("predict", "numbers/", "--data", "npz:numbers.npz").splitlines()[7].split()
    np.testing.assert_allclose([float(v) for v in said[:3]], wanted[7], rtol=1e-3, atol=1e-3)
    assert said[3] == "is" and said[-2:] == ["example", "7"]
    refused("--top is of classes", "predict", "numbers/", "--data", "npz:numbers.npz", "--top", "2")

    yes = sigmoid(run("one.onnx", x)[:, 0])
    rows = predicted("one.onnx", "one")
    assert [r["predicted"] for r in rows] == [str(int(p > 0.5)) for p in yes]
    np.testing.assert_allclose([r["probability"] for r in rows], np.maximum(yes, 1 - yes), atol=1e-4)
    assert [r["label"] for r in rows] == [str(int(s > 0)) for s in scores[:, 0]]
    each = sigmoid(run("many.onnx", x))
    np.testing.assert_allclose([r["probabilities"] for r in predicted("many.onnx", "many")], each, atol=1e-4)

    # Somebody's file says nothing of its loss: a column is a number, or what a sigmoid makes of it a probability.
    weight = numpy_helper.from_array(np.ones((8, 1), np.float32), "w")
    for name, last in (("column", "Identity"), ("truth", "Sigmoid")):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node(last, ["h"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])], [weight])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{name}.onnx")
    sums = x.astype(float).sum(1)
    rows = predicted("column.onnx", "one")
    np.testing.assert_allclose([r["predicted"] for r in rows], sums, rtol=1e-4, atol=1e-4)
    assert [r["label"] for r in rows] == list((scores[:, 0] > 0).astype(float))
    assert [r["predicted"] for r in predicted("truth.onnx", "one")] == [str(int(s > 0)) for s in sums]


def names():
    """labels.txt belongs to the last layer that it was written for."""
    few = ["--threads", "1", "--steps", "3", "--no-validation"]
    octet("train", "net3.txt", "--data", "npz:classes.npz", *few, "-o", "named/")
    assert pathlib.Path("named/labels.txt").read_text() == "0\n1\n2\n"
    octet("train", "named/", "--data", "npz:classes.npz", *few, "-o", "on/")
    assert pathlib.Path("on/labels.txt").read_text() == "0\n1\n2\n"
    octet("train", "named/", "--data", "npz:numbers.npz", "--loss", "mse", *few, "-o", "same/")
    octet("train", "named/", "--data", "npz:numbers.npz", "--loss", "mse", "--classes", "3", *few, "-o", "fresh/")
    octet("train", "named/", "--data", "npz:many.npz", "--loss", "binary-cross-entropy", "--classes", "3", *few, "-o", "other/")
    # Edited names are the later word, in the file and in the model, for whatever is made of it.
    pathlib.Path("named/labels.txt").write_text("oak\nash\nelm\n")
    done = subprocess.run([OCTET, "train", "named/", "--data", "npz:classes.npz", *few, "-o", "edited/"], capture_output=True, text=True, check=True)
    assert "classes are called as in labels.txt: oak, ash, elm (the model says 0, 1, 2)" in done.stderr, done.stderr
    octet("train", "named/", "--data", "npz:classes.npz", *few, "-o", "edited.onnx")
    octet("quantize", "named/", "--data", "npz:classes.npz", "-o", "coded/")
    octet("train", "named/", "--data", "npz:classes.npz", "--classes", "3", *few, "-o", "anew/")
    for folder, names_there in (("edited/", ["oak", "ash", "elm"]), ("coded/", ["oak", "ash", "elm"]), ("anew/", ["0", "1", "2"])):
        assert pathlib.Path(folder, "labels.txt").read_text().split() == names_there, folder
    for model in ("edited.onnx", "edited/model.onnx", "coded/model.onnx"):
        metadata = {each.key: each.value for each in onnx.load(model).metadata_props}
        assert json.loads(metadata["octet.classes"]) == ["oak", "ash", "elm"], model
    assert {row["predicted"] for row in predicted("edited/", "classes")} <= {"oak", "ash", "elm"}
    pathlib.Path("named/labels.txt").write_text("oak\nash\n")
    refused("labels.txt names 2 labels, and the model tells 3 classes apart", "train", "named/", "--data", "npz:classes.npz", *few, "-o", "z/")
    octet("train", "named/", "--data", "npz:numbers.npz", "--loss", "mse", *few, "--force", "-o", "same/")
    for folder in ("same", "fresh", "other"):
        assert not pathlib.Path(folder, "labels.txt").exists(), folder
    assert len(predicted("same/", "numbers")[0]["predicted"]) == 3


def said_of_labels(x):
    """Labels of one class, of nearly one, of a rare one, and numbers far from 0 are told; sound ones are not."""
    rng = np.random.default_rng(4)

    def said(name, y, net="net3.txt", *more):
        np.savez(f"{name}.npz", x=np.resize(x, (len(y), 8)), y=y)
        return subprocess.run([OCTET, "train", net, "--data", f"npz:{name}.npz", "--steps", "8", "--batch", "100", "--threads", "1", "--force", *more, "-o", "s.onnx"],
                              capture_output=True, text=True, check=True).stderr

    one = said("same", np.ones(400, np.int64))
    assert "all 400 examples have the label 1, so there is nothing to tell apart" in one, one
    mostly = said("mostly", np.arange(400) % 20 // 19)
    assert "380 of 400 examples have the label 0 and 20 the label 1: always saying the first is right for 95.0 %" in mostly, mostly
    rare = said("rare", np.where(np.arange(400) < 4, 2, np.arange(400) % 2))
    assert "and 4 the label 2: always saying" in rare, rare
    even = said("even", np.arange(400) % 3)
    assert "balanced" not in even and "tell apart" not in even, even
    price = 300 + 50 * x[:, 0]
    far = said("price", price, "net1.txt", "--loss", "mse")
    found = re.search(r"the labels lie around (\S+) \(deviation (\S+)\)", far)
    assert found, far
    mean, deviation = map(float, found.groups())
    assert abs(mean - price.mean()) < 0.5 and abs(deviation - price.std()) < 0.5, far
    assert "learn (label - " in far, far
    near = said("near", (price - price.mean()) / price.std(), "net1.txt", "--loss", "mse")
    assert "the labels lie around" not in near, near
    said("counts", rng.integers(3, 6, 400), "net1.txt", "--loss", "mse")


def bits():
    """Text and the ONNX file that it becomes train to the same bytes, each time; another seed to others."""
    octet("assemble", "net3.txt", "--seed", "3", "-o", "drawn.onnx")
    weight = {i.name: numpy_helper.to_array(i) for i in onnx.load("drawn.onnx").graph.initializer}
    assert abs(weight["w1"].std() - np.sqrt(2 / 8)) < 0.1 and not weight["b1"].any()
    assert np.abs(weight["w2"]).max() <= np.sqrt(6 / 27) and weight["w2"].std() > 0.2
    few = ["--data", "npz:classes.npz", "--steps", "20", "--threads", "1", "--no-validation", "--seed", "3"]
    for source, out in (("net3.txt", "a"), ("net3.txt", "b"), ("drawn.onnx", "c")):
        octet("train", source, *few, "-o", f"{out}.onnx")
    a, b, c = (pathlib.Path(f"{n}.onnx").read_bytes() for n in "abc")
    assert a == b
    weights = [{i.name: numpy_helper.to_array(i) for i in onnx.load_from_string(m).graph.initializer} for m in (a, c)]
    assert weights[0].keys() == weights[1].keys() and all((weights[0][k] == weights[1][k]).all() for k in weights[0])
    octet("train", "net3.txt", *few[:-1], "4", "-o", "d.onnx")
    assert pathlib.Path("d.onnx").read_bytes() != a


def picture_network(path, fixed):
    """Conv, BatchNormalization in training mode, Relu, Conv head, mean, Reshape with the batch in it, Softmax over 10."""
    rng = np.random.default_rng(1)
    batch = 1 if fixed else "N"
    init = {"w": rng.normal(0, 0.3, (6, 1, 3, 3)), "s": np.ones(6), "o": np.zeros(6), "m": np.zeros(6), "v": np.ones(6),
            "hw": rng.normal(0, 0.3, (10, 6, 1, 1)), "hb": rng.normal(size=10)}
    init = [numpy_helper.from_array(v.astype(np.float32), k) for k, v in init.items()]
    init.append(numpy_helper.from_array(np.array([1 if fixed else -1, 10]), "shape"))
    nodes = [helper.make_node("Conv", ["img", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c", "s", "o", "m", "v"], ["n", "m2", "v2"], training_mode=1),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("Conv", ["r", "hw", "hb"], ["h"], name="head"),
             helper.make_node("GlobalAveragePool", ["h"], ["g"]), helper.make_node("Reshape", ["g", "shape"], ["z"]),
             helper.make_node("Softmax", ["z"], ["p"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("img", TensorProto.FLOAT, [batch, 1, 8, 8])],
                              [helper.make_tensor_value_info("p", TensorProto.FLOAT, [batch, 10])], init)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def first_rows():
    """A file that hands on its first row alone has batches of one, whatever would run."""
    pathlib.Path("first.txt").write_text("""graph net opset(""=17)
input x: f32[1, 8]
const w: f32[8, 3] = init
const zero: i64[1] = [0]
const one: i64[1] = [1]
const two: i64[1] = [2]
h = MatMul(x, w)
y = Slice(h, zero, one, zero, two)
output y: f32[1, 3]
""")
    done = subprocess.run([OCTET, "train", "first.txt", "--data", "npz:classes.npz", "--batch", "1", "--steps", "2", "-o", "first.onnx"],
                          capture_output=True, text=True, check=True)
    assert "of two batches it computes 1 of 2 rows" in done.stderr, done.stderr
    said = octet("train", "first.txt", "--data", "npz:classes.npz", "-o", "no.onnx", code=2)
    assert "the model takes batches of 1 alone; give --batch 1" in said, said


def heads():
    """Somebody's network with ten classes and a batch of one learns three, in batches."""
    rng = np.random.default_rng(2)
    y = np.arange(240) % 3
    img = rng.normal(0, 0.3, (240, 1, 8, 8)).astype(np.float32)
    for k in range(3):
        img[y == k, 0, :, k * 2:k * 2 + 3] += 1.5 * (k + 1)
    np.savez("img.npz", img=img, y=y)
    for fixed in (True, False):
        picture_network("theirs.onnx", fixed)
        done = subprocess.run([OCTET, "train", "theirs.onnx", "--data", "npz:img.npz", "--classes", "3", "--epochs", "15", "--lr", "0.02",
                               "--batch", "24", "--threads", "1", "--force", "-o", "mine.onnx"], capture_output=True, text=True, check=True)
        assert "head" in done.stderr and "3 outputs instead of 10" in done.stderr, done.stderr
        assert ("took batches of 1 alone" in done.stderr) == fixed, done.stderr
        said = run("mine.onnx", img, "img")
        assert said.shape == (240, 3) and (said.argmax(1) == y).mean() > 0.9, (said.argmax(1) == y).mean()
        model = onnx.load("mine.onnx")
        norm = next(n for n in model.graph.node if n.op_type == "BatchNormalization")
        assert len(norm.output) == 1 and not norm.attribute or all(a.name != "training_mode" for a in norm.attribute)
        kept = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        assert np.abs(kept["m"]).max() > 0.01  # running statistics were learned
        assert [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim][1] == 3
    octet("train", "theirs.onnx", "--data", "npz:img.npz", "--classes", "3", "--steps", "5", "--freeze", "w", "s", "o", "--freeze-batch-norm", "--threads", "1",
          "-o", "frozen.onnx")
    before, after = ({i.name: numpy_helper.to_array(i) for i in onnx.load(p).graph.initializer} for p in ("theirs.onnx", "frozen.onnx"))
    assert all((before[k] == after[k]).all() for k in "wsomv")
    described(img, y)
    # What was trained goes on to 8 bits.
    octet("qat", "mine.onnx", "--data", "npz:img.npz", "--epochs", "1", "--lr", "0.001", "--batch", "24", "--threads", "1", "-o", "mine.qat.onnx")
    assert (run("mine.qat.onnx", img, "img").argmax(1) == y).mean() > 0.9
    octet("qat", "numbers/model.onnx", "--data", "npz:numbers.npz", "--epochs", "1", "--threads", "1", "-o", "numbers.qat.onnx")
    assert scores_of("numbers.qat.onnx", "numbers")["r2"] > 0.8


def described(img, y):
    """A CNN from its layers."""
    train = ["train", "cnn", "--data", "npz:img.npz", "--epochs", "15", "--lr", "0.02", "--batch", "24", "--threads", "1", "--layers"]
    octet(*train, "conv 8 3, bn, relu, pool 2, depthwise 3, conv 12 1 stride 2 pad 0, relu, mean, dropout 0.1, linear 3", "-o", "layers.onnx")
    assert (run("layers.onnx", img).argmax(1) == y).mean() > 0.9
    ops = [n.op_type for n in onnx.load("layers.onnx").graph.node]
    assert ops == ["Conv", "BatchNormalization", "Relu", "MaxPool", "Conv", "Conv", "Relu", "GlobalAveragePool", "Flatten", "Dropout", "Gemm", "Softmax"], ops
    for layers, words in (("conv 8 3, relu, linear 4", "end them with linear 3"), ("conv 8 3", "end them with linear 3"), ("conf 8 3, linear 3", "did you mean \"conv\"?"),
                          ("conv 8, linear 3", "takes 2 numbers"), ("conv 8 9 pad 0, linear 3", "does not fit an image of 8 x 8"), ("conv 8 3 strid 2, linear 3", "\"strid\" is no number"),
                          ("linear 4, conv 8 3, linear 3", "a layer before it made a row"), ("conv 8 3,, linear 3", "a layer is missing")):
        refused(words, *train, layers, "-o", "e.onnx")
    refused("--hidden is of what --layers describes", *train, "linear 3", "--hidden", "4", "-o", "e.onnx")


def errors():
    refused("no model was named", "train")
    refused("no data was named", "train", "net3.txt", "-o", "e.onnx")
    refused("did you mean \"cnn\"?", "train", "cnm", "--data", "generated", "-o", "e.onnx")
    refused("labels are numbers, 3 for each example; say what they are: --loss mean-square", "train", "net3.txt", "--data", "npz:numbers.npz", "-o", "e.onnx")
    refused("cross-entropy learns classes", "train", "net3.txt", "--data", "npz:numbers.npz", "--loss", "cross-entropy", "-o", "e.onnx")
    refused("is no 0 or 1", "train", "net3.txt", "--data", "npz:numbers.npz", "--loss", "binary-cross-entropy", "-o", "e.onnx")
    refused("loss \"mze\" is not known; did you mean \"mse\"?", "train", "net3.txt", "--data", "npz:numbers.npz", "--loss", "mze", "-o", "e.onnx")
    refused("--classes 5 gives it a fresh last layer", "train", "net3.txt", "--data", "npz:five.npz", "-o", "e.onnx")
    refused("the labels are 3 numbers an example, and the model's output \"l\" is f32[N, 1]", "train", "net1.txt", "--data", "npz:many.npz",
            "--loss", "mse", "-o", "e.onnx")
    two = NET.format(out=3).replace("l = Gemm(r, w2, b2)", "k = Gemm(r, w2, b2)\nm = Gemm(r, w2, b2)\nl = Mul(k, m)")
    pathlib.Path("two.txt").write_text(two)
    refused("makes it from 2 values", "train", "two.txt", "--data", "npz:five.npz", "--classes", "5", "-o", "e.onnx")
    for line, words in (("const q: f32[3] = init he\nq2 = Add(l, q)", "init he is of the weights of a product"), ("const q: f32[3] = init hee", "there is no init \"hee\"")):
        pathlib.Path("bad.txt").write_text(NET.format(out=3).replace("output l", f"{line}\noutput l"))
        refused(words, "train", "bad.txt", "--data", "npz:classes.npz", "-o", "e.onnx")
    assert not pathlib.Path("e.onnx").exists()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        x, scores = data()
        losses(x, scores)
        predictions(x, scores)
        names()
        said_of_labels(x)
        bits()
        first_rows()
        heads()
        errors()
        os.chdir("/")


main()
