# SPDX-License-Identifier: Apache-2.0
# Predictions of octet and ONNX Runtime for one BERT classifier, each on the tokens of the Hugging Face tokenizer.
# ONNX Runtime runs with session.x64quantprecision=1, without which its int8 products saturate on CPUs without VNNI.
# usage: tools/setup-peers --run bench/bert_agreement.py OCTET REVIEWS.tsv.gz N FOLDER...    FOLDER: a model folder
# REVIEWS: lines of number, stars, label (0 or 1) and text, between tabs
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
from tokenizers import Tokenizer

LENGTH = 128
BATCH = 32


def reviews(path, count):
    labels, texts = [], []
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            _, _, label, text = line.rstrip("\n").split("\t", 3)
            labels.append(label == "1")
            texts.append(text)
            if len(texts) == count:
                break
    return numpy.array(labels), texts


def tokens(folder, texts):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding(length=LENGTH)
    rows = tokenizer.encode_batch(texts)
    return {"input_ids": numpy.array([r.ids for r in rows], dtype=numpy.int64),
            "attention_mask": numpy.array([r.attention_mask for r in rows], dtype=numpy.int64),
            "token_type_ids": numpy.array([r.type_ids for r in rows], dtype=numpy.int64)}


def theirs(model, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    out = [session.run(None, {n: inputs[n][at:at + BATCH] for n in names})[0]
           for at in range(0, len(inputs["input_ids"]), BATCH)]
    return names, numpy.concatenate(out)


def ours(octet, folder, inputs, names):
    out = []
    with tempfile.TemporaryDirectory() as scratch:
        for at in range(0, len(inputs["input_ids"]), 500):
            numpy.savez(f"{scratch}/in.npz", **{n: inputs[n][at:at + 500] for n in names})
            subprocess.run([octet, "run", str(folder), "--inputs", f"{scratch}/in.npz", "-o", f"{scratch}/out.npz",
                            "--threads", "1", "--force"], check=True, stdout=subprocess.DEVNULL)
            with numpy.load(f"{scratch}/out.npz") as result:
                out.append(result[result.files[0]])
    return numpy.concatenate(out)


def main():
    octet, path, count, *folders = sys.argv[1:]
    labels, texts = reviews(path, int(count))
    for folder in map(pathlib.Path, folders):
        inputs = tokens(folder, texts)
        names, b = theirs(folder / "model.onnx", inputs)
        a = ours(octet, folder, inputs, names)
        agree = a.argmax(1) == b.argmax(1)
        print(json.dumps({"model": str(folder), "texts": len(texts), "agreement": float(agree.mean()),
                          "octet_accuracy": float((a.argmax(1) == labels).mean()),
                          "onnxruntime_accuracy": float((b.argmax(1) == labels).mean()),
                          "largest_difference": float(numpy.abs(a - b).max())}), flush=True)


main()
