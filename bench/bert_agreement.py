# SPDX-License-Identifier: Apache-2.0
# Predictions of octet and ONNX Runtime for one BERT classifier, each on the tokens of the Hugging Face tokenizer.
# ONNX Runtime runs with session.x64quantprecision=1, without which its int8 products saturate on CPUs without VNNI.
# usage: tools/setup-peers --run bench/bert_agreement.py OCTET REVIEWS.tsv.gz N FOLDER...    FOLDER: a model folder
# REVIEWS: lines of number, stars, label (0 or 1) and text, between tabs; half of the N are negative, half positive
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
from interop.reviews import reviews, tokens

BATCH = 32


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
    texts, labels = reviews(path, int(count))
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
