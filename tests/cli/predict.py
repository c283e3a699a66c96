# SPDX-License-Identifier: Apache-2.0
"""octet predict on texts beside ONNX Runtime and Hugging Face's tokenizers: typed, from files, streaming, in pairs, from
data sets; a language model; octet data export of tokens."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
from octet_command import OCTET, octet, refused
from tokenizers import Tokenizer

TEXTS = ["the film was wonderful, and the plot is clever", "a dull and tiresome play", "Éclair!", "", "good " * 60]


def sharpen(folder):
    """Random weights, so large that each token counts: what a few steps of training make says one half of everything."""
    model = onnx.load(f"{folder}/model.onnx")
    rng = np.random.default_rng(5)
    for tensor in model.graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and values.ndim == 2:
            scale = 0.2 if tensor.name.startswith("classifier") else 0.3
            tensor.CopyFrom(onnx.numpy_helper.from_array(rng.normal(0, scale, values.shape).astype(np.float32), tensor.name))
    onnx.save(model, f"{folder}/model.onnx")


class Peer:
    """The same model in ONNX Runtime behind Hugging Face's tokenizer, one text at a time."""

    def __init__(self, folder, length):
        self.session = onnxruntime.InferenceSession(f"{folder}/model.onnx", providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.enable_truncation(length)
        self.tokenizer.no_padding()

    def __call__(self, *texts):
        row = self.tokenizer.encode(*texts)
        given = {"input_ids": row.ids, "attention_mask": row.attention_mask, "token_type_ids": row.type_ids}
        scores = self.session.run(None, {k: np.array([v], np.int64) for k, v in given.items()})[0][0].astype(float)
        e = np.exp(scores - scores.max())
        return e / e.sum()


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def check_answers(answers, peer, texts, labels):
    assert len(answers) == len(texts)
    for i, (answer, text) in enumerate(zip(answers, texts)):
        want = peer(*text) if isinstance(text, tuple) else peer(text)
        assert answer["index"] == i and answer["predicted"] == labels[want.argmax()], (answer, want)
        assert abs(answer["probability"] - want.max()) < 1e-4, (answer, want)


def check_texts():
    octet("train", "bert", "--data", "reviews?last=2", "--limit", "300", "--test-limit", "50", "--vocab", "600",
          "--max-length", "32", "--size", "1x64", "--epochs", "1", "-o", "bert/")
    sharpen("bert")
    peer, labels = Peer("bert", 32), ["negative", "positive"]
    assert np.ptp([peer(text)[0] for text in TEXTS]) > 0.3, "every text gets one answer"
    check_answers(lines_of(octet("predict", "bert", *TEXTS, "--format", "jsonl")), peer, TEXTS, labels)
    pathlib.Path("lines.txt").write_text("\r\n".join(TEXTS))
    for batch in ((), ("--batch", "3")):
        got = lines_of(octet("predict", "bert", "--text", "lines.txt", "--json", *batch))
        check_answers(got, peer, TEXTS, labels)
        assert [g["text"] for g in got] == TEXTS
    said = octet("predict", "bert", TEXTS[0], "--top", "2")
    p = peer(TEXTS[0])
    first = f"{labels[p.argmax()]:<8} {p.max():.4f}  {labels[p.argmin()]:<8} {p.min():.4f}  "
    assert said == f"{first}{TEXTS[0]}\n", said
    assert octet("predict", "bert", TEXTS[4]).endswith("…\n")
    # Each answer comes before the next question.
    with subprocess.Popen([OCTET, "predict", "bert", "--format", "jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asked:
        got = []
        for text in TEXTS:
            asked.stdin.write(text + "\n")
            asked.stdin.flush()
            got.append(json.loads(asked.stdout.readline()))
        asked.stdin.close()
        assert asked.wait() == 0
    check_answers(got, peer, TEXTS, labels)
    assert octet("predict", "bert", "-", input="a dull film") == octet("predict", "bert", "a dull film")
    assert octet("predict", "bert", input="") == ""
    octet("predict", "bert", "--text", "lines.txt", "-o", "t.csv", "--top", "2")
    with open("t.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == TEXTS and {row["predicted"] for row in rows} <= set(labels)
    octet("predict", "bert", "--text", "lines.txt", "-o", "t.npz")
    with np.load("t.npz") as arrays:
        np.testing.assert_allclose(arrays["probabilities"], [peer(t) for t in TEXTS], atol=1e-4)
        assert list(arrays["classes"]) == labels
    refused("exists; use --force", "predict", "bert", "a", "-o", "t.csv")
    refused("several things", "predict", "bert", "a", "--text", "lines.txt")
    refused("npz goes to a file", "predict", "bert", "a", "--format", "npz")
    refused('no format "jsn"; known are text, jsonl, csv, npz', "predict", "bert", "a", "--format", "jsn")
    refused("cannot be read", "predict", "bert", "--text", "nothing.txt")
    refused("takes texts, no images", "predict", "bert", "--image", "a.png")
    refused("--training-data is a part of --data", "predict", "bert", "a", "--training-data")

    # A lone quantized file has no tokenizer beside it, but its classes are in it.
    octet("quantize", "bert", "--data", "reviews?last=2", "--samples", "32", "-o", "bert8.onnx")
    refused("or the tokenizer with --vocab", "predict", "bert8.onnx", "a")
    eight = lines_of(octet("predict", "bert8.onnx", "--vocab", "bert/vocab.txt", "--text", "lines.txt", "--format", "jsonl", "--max-length", "32"))
    floats = lines_of(octet("predict", "bert", "--text", "lines.txt", "--format", "jsonl"))
    assert all(e["predicted"] in labels and abs(e["probability"] - f["probability"]) < 0.2 for e, f in zip(eight, floats)), (eight, floats)
    pathlib.Path("names.txt").write_text("bad\ngood\n")
    assert lines_of(octet("predict", "bert", "a", "--labels", "names.txt", "--json"))[0]["predicted"] in ("bad", "good")
    pathlib.Path("names.txt").write_text("bad\n")
    refused("has 1 label for 2 classes", "predict", "bert", "a", "--labels", "names.txt")
    return peer, labels


def check_data(peer, labels):
    texts = ["a wonderful film", "a dull plot", "the acting is superb"]
    pathlib.Path("new.tsv").write_text("text\n" + "\n".join(texts) + "\n")
    got = lines_of(octet("predict", "bert", "--data", "tsv:new.tsv", "--format", "jsonl"))
    check_answers(got, peer, texts, labels)
    assert "label" not in got[0]
    pathlib.Path("train.tsv").write_text("review\tkind\nno\tnegative\nyes\tpositive\n")
    pathlib.Path("test.tsv").write_text("what\tis\n" + "".join(f"{t}\t{k}\n" for t, k in zip(texts, ["positive", "negative", "positive"])))
    spec = "tsv:train.tsv?text=review&label=kind&test=test.tsv"
    refused('no column "review"', "predict", "bert", "--data", spec)
    got = lines_of(octet("predict", "bert", "--data", spec + "&test_text=what&test_label=is", "--format", "jsonl"))
    check_answers(got, peer, texts, labels)
    assert [g["label"] for g in got] == ["positive", "negative", "positive"]
    refused("name the file with test=FILE", "data", "show", "tsv:train.tsv?text=review&test_text=what")
    said = octet("predict", "bert", "--data", spec, "--training-data").splitlines()
    assert len(said) == 2 and "is negative" in said[0], said
    # What eval keeps is what predict says, with the place in the data set of each text that was drawn.
    octet("eval", "bert", "--data", "reviews?last=2", "--limit", "50", "--latency-runs", "0", "--save-predictions", "e.jsonl")
    all_of_them = lines_of(octet("predict", "bert", "--data", "reviews?last=2", "--format", "jsonl"))
    drawn = lines_of(pathlib.Path("e.jsonl").read_text())
    assert len(drawn) == 50 and drawn[-1]["index"] > 50
    for row in drawn:
        same = all_of_them[row["index"]]
        assert row["label"] == same["label"] and row["predicted"] == same["predicted"]
        assert abs(max(row["probabilities"]) - same["probability"]) < 1e-4
    # Tokens for other tools.
    octet("data", "export", "tsv:new.tsv", "--vocab", "bert", "--max-length", "8", "--pad", "-o", "tokens.npz", "--int32")
    peer.tokenizer.enable_truncation(8)
    peer.tokenizer.enable_padding(length=8)
    with np.load("tokens.npz") as arrays:
        assert arrays["input_ids"].dtype == np.int32
        for i, text in enumerate(texts):
            row = peer.tokenizer.encode(text)
            assert list(arrays["input_ids"][i]) == row.ids and list(arrays["attention_mask"][i]) == row.attention_mask
    said = octet("data", "export", "tsv:new.tsv", "--model", "bert", "--raw", "-o", "raw")
    ids = np.fromfile("raw/input_ids.bin", np.int64).reshape(3, -1)
    assert f"input_ids:3x{ids.shape[1]}" in said, said
    refused("is text; name what makes tokens", "data", "export", "tsv:new.tsv", "-o", "no.npz")
    refused("exists; use --force", "data", "export", "tsv:new.tsv", "--model", "bert", "--raw", "-o", "raw")
    octet("data", "export", "tsv:train.tsv?text=review&label=kind", "--vocab", "bert", "--split", "both", "-o", "both.npz")
    with np.load("both.npz") as arrays:
        assert sorted(arrays) == sorted(f"{n}_{s}" for n in ("input_ids", "attention_mask", "token_type_ids", "y") for s in ("train", "test"))


def check_pairs():
    with open("pairs.tsv", "w", encoding="utf-8") as file:
        file.write("question\tanswer\tlabel\n")
        for i in range(40):
            file.write(f"is it number {i}\tit is {i if i % 2 else i + 1} indeed\t{['wrong', 'right'][i % 2]}\n")
    spec = "tsv:pairs.tsv?text=question&text2=answer"
    octet("train", "bert", "--data", spec, "--vocab", "200", "--max-length", "16", "--epochs", "1", "-o", "pairs/")
    sharpen("pairs")
    peer, labels = Peer("pairs", 16), ["right", "wrong"]
    pairs = [("is it number 3", "it is 3 indeed"), ("is it a very long question about number 4 and 5 and 6", "no")]
    assert abs(peer(*pairs[0])[0] - peer(*reversed(pairs[0]))[0]) > 0.01 and abs(peer(*pairs[0])[0] - peer(pairs[0][0])[0]) > 0.01
    typed = [t for pair in pairs for t in pair]
    got = lines_of(octet("predict", "pairs", "--pair", *typed, "--format", "jsonl"))
    check_answers(got, peer, pairs, labels)
    assert [(g["text"], g["text2"]) for g in got] == pairs
    check_answers(lines_of(octet("predict", "pairs", "--pair", "--json", input="".join(f"{a}\t{b}\n" for a, b in pairs))), peer, pairs, labels)
    assert "it is 3 indeed" in octet("predict", "pairs", "--pair", *pairs[0])
    assert len(lines_of(octet("predict", "pairs", "--data", spec, "--json"))) == 40
    refused("takes two texts each, 3 were given", "predict", "pairs", "--pair", "a", "b", "c")
    pathlib.Path("bad.txt").write_text("a\tb\nno tab\n")
    refused("bad.txt: line 2 is no pair", "predict", "pairs", "--pair", "--text", "bad.txt", "-o", "no.csv")
    assert not pathlib.Path("no.csv").exists()


def check_masks():
    pathlib.Path("corpus.txt").write_text("".join(f"the film number {i} was good\nand the play was dull\n\n" for i in range(40)))
    octet("pretrain", "bert", "--text", "corpus.txt", "--size", "1x32", "--vocab", "100", "--max-length", "16", "--epochs", "1",
          "--batch", "8", "-o", "lm/")
    asked = "the [MASK] was [MASK]"
    want = json.loads(octet("fill-mask", "lm", asked, "--top", "2", "--json"))
    got = lines_of(octet("predict", "lm", asked, "--top", "2", "--json"))
    assert got[0]["text"] == asked and len(got[0]["masks"]) == 2
    for w, g in zip(want, got[0]["masks"]):
        assert w["position"] == g["position"]
        assert [(x["token"], x["probability"]) for x in w["guesses"]] == [(x["token"], x["probability"]) for x in g["guesses"]]
    assert octet("predict", "lm", input=asked + "\n").endswith(f"{asked}\n")
    refused("has no [MASK]; put one", "predict", "lm", "nothing hidden")
    refused("fills the [MASK]", "predict", "lm", "--data", "reviews")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        peer, labels = check_texts()
        check_data(peer, labels)
        check_pairs()
        check_masks()
        os.chdir("/")


if __name__ == "__main__":
    main()
