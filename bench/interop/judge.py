# SPDX-License-Identifier: Apache-2.0
# Takes in the files that cnn_files.py and bert_files.py made: octet simplify, repair for tensorrt-10, check. One table:
# what was found in each, top-1 of the file as it came, in ONNX Runtime where that can run it, and as it is written, in
# octet (with how many examples it then gets wrong, and right, that it got right, and wrong, before), and how many of the
# first 1,000 predictions of BERT, and of all of the CNN's, ONNX Runtime shares with octet on the written file; of some
# also top-1 as it is repaired for ONNX Runtime, on these first ones.
# ONNX Runtime runs with session.x64quantprecision=1, without which its int8 products saturate on CPUs without VNNI.
# usage: judge.py OCTET cnn|bert DATA OUT COUNT [WORD...]    COUNT 0: as many examples as the row says. Exit 1: a file is
# refused, worse by more than 0.3 points or seen differently by ONNX Runtime in more than 2 of 100 examples, or loads in
# ONNX Runtime only as it came
import collections
import functools
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from reviews import reviews, tokens
from rows import slug

OCTET, KIND, DATA, OUT, COUNT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]), int(sys.argv[5])
TARGET, MAY_LOSE, MUST_AGREE = "tensorrt-10", 0.003, 0.98
SHARED = {"cnn": 10000, "bert": 1000}[KIND]  # examples that ONNX Runtime judges beside octet
CALIBRATION = {"cnn": f"fashion-mnist:{DATA}", "bert": f"imdb:{DATA}"}[KIND]


def images(count):
    def read(name, offset):
        with gzip.open(DATA / f"{name}.gz") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=offset)
    pixels = read("t10k-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)[:count]
    return {"x": (pixels.astype(numpy.float32) / 255 - 0.2860) / 0.3530}, read("t10k-labels-idx1-ubyte", 8)[:count]


def octet(*words, answers=(0,)):
    done = subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in answers:
        raise RuntimeError(f"octet {words[0]}: exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()[-1500:]}")
    return done


def session(path, optimized=True):
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = len(os.sched_getaffinity(0))  # more of them than cores wait for each other
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def pieces(path, data, batch):
    """The data in batches of the file's size, under the names of the file's inputs."""
    graph = onnx.load(path, load_external_data=False).graph
    stored = {t.name for t in graph.initializer}
    inputs = [i for i in graph.input if i.name not in stored]
    fixed = inputs[0].type.tensor_type.shape.dim[0].dim_value
    batch = fixed or batch
    names = {i.name: i.name if i.name in data else list(data)[0] for i in inputs}
    count = len(next(iter(data.values())))
    for at in range(0, count, batch):
        if not fixed or at + batch <= count:
            yield {mine: data[theirs][at:at + batch] for mine, theirs in names.items()}


def in_onnxruntime(path, data, optimized=True):
    model = session(path, optimized)
    return numpy.concatenate([model.run(None, piece)[0] for piece in pieces(path, data, 50)])


def in_octet(path, data):
    out = []
    with tempfile.TemporaryDirectory() as scratch:
        for piece in pieces(path, data, 500):
            numpy.savez(f"{scratch}/in.npz", **piece)
            octet("run", path, "--inputs", f"{scratch}/in.npz", "-o", f"{scratch}/out.npz", "--force")
            with numpy.load(f"{scratch}/out.npz") as result:
                out.append(result[result.files[0]])
    return numpy.concatenate(out)


def outputs(path, data):
    """In ONNX Runtime where it can: it lacks kernels for some files of its own making, and its optimizer stops at some
    that share a zero point among weights and activations."""
    unoptimized = lambda p, d: in_onnxruntime(p, d, False)
    for run, note in ((in_onnxruntime, ""), (unoptimized, " (not optimized)"), (in_octet, " (octet)")):
        try:
            return run(path, data), note
        except Exception as error:
            reason = error
    raise reason


def for_onnxruntime(came, data):
    """Outputs of the file as it is repaired for ONNX Runtime, with all of its optimizations in its exact mode. Where it does
    not load so, neither may the file as it came: then nothing, and why."""
    fixed = came.with_name("runtime.onnx")
    answer = json.loads(octet("repair", came, "--target", "onnxruntime", "-o", fixed, "--force", "--json", answers=(0, 1)).stdout)
    why = ", ".join(sorted({f["rule"] for f in answer["left"] if f["severity"] == "error"}))
    if answer["accepted"]:
        try:
            return in_onnxruntime(fixed, data), f"{len(answer['changes'])} repairs, {sum(c['exact'] for c in answer['changes'])} exact"
        except Exception as error:
            why = str(error)
    try:
        session(came)
    except Exception:
        return None, "does not load, as it came" if answer["accepted"] else f"refused: {why}"
    raise RuntimeError(f"repaired for ONNX Runtime, which loads it as it came: {why}")


def judge(folder, examples):
    row = json.loads((folder / "row.json").read_text())
    data, labels = examples(COUNT or row.get("count", 10000 if KIND == "cnn" else 1000))
    shared = {name: values[:SHARED] for name, values in data.items()}
    came, simple, fixed = folder / "model.onnx", folder / "simple" / "model.onnx", folder / "fixed.onnx"
    simple.parent.mkdir(exist_ok=True)
    for companion in [*folder.glob("*token*"), *folder.glob("vocab.txt")]:  # repair reads the data's texts with the tokenizer beside the model
        shutil.copy(companion, simple.parent)
    def right(found):
        return found.argmax(1) == labels[:len(found)]
    def top1(found):
        return float(right(found).mean())
    out = {"row": row["title"], "opset": max(o.version for o in onnx.load(came, load_external_data=False).opset_import if o.domain == "")}
    found = json.loads(octet("check", came, "--target", TARGET, "--json", answers=(0, 1)).stdout)
    rules = collections.Counter(f["rule"] for f in found["findings"] if f["severity"] == "error")
    out["found"] = ", ".join(f"{count} {rule}" for rule, count in rules.items())
    octet("simplify", came, "-o", simple, "--force", *row.get("simplify", []))
    repaired = octet("repair", simple, "--target", TARGET, "--data", CALIBRATION, "--samples", row.get("samples", 64), "-o", fixed, "--force", "--json", answers=(0, 1))
    answer = json.loads(repaired.stdout)
    out["repairs"] = len(answer["changes"])
    out["exact"] = sum(c["exact"] for c in answer["changes"])
    if not answer["accepted"]:
        left = collections.Counter(f"{f['rule']}: {f['message']}" for f in answer["left"] if f["severity"] == "error")
        raise RuntimeError(f"refused: {left.most_common(4)}")
    octet("check", fixed, "--target", TARGET)
    before, out["note"] = outputs(came, data)
    after = in_octet(fixed, data)
    out["count"], out["before"], out["after"] = len(labels), top1(before), top1(after)
    out["lost"] = int((right(before) & ~right(after)).sum())
    out["won"] = int((right(after) & ~right(before)).sum())
    theirs, out["after_note"] = outputs(fixed, shared)
    out["agree"] = float((theirs.argmax(1) == after[:len(theirs)].argmax(1)).mean())
    out["runtime_loss"], out["runtime"] = 0, "-"
    if row.get("onnxruntime"):
        found, out["runtime"] = for_onnxruntime(came, shared)
        if found is not None:
            out["runtime_loss"] = top1(before[:len(found)]) - top1(found)
            out["runtime"] = f"{100 * top1(found):.2f}, was {100 * top1(before[:len(found)]):.2f} ({out['runtime']})"
    return out


def main():
    read = images
    if KIND == "bert":
        def read(count):
            texts, labels = reviews(DATA / "test.tsv.gz", count)
            return tokens(next(OUT.glob("*/tokenizer.json")).parent, texts), labels
    examples = functools.cache(read)
    failed = 0
    print(f"| file | opset | what {TARGET} refuses | repairs (exact) | examples | top-1 as it came | repaired (lost, won) | ONNX Runtime agrees | repaired for ONNX Runtime |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    for folder in sorted(f.parent for f in OUT.glob("*/row.json")):
        if len(sys.argv) > 6 and not any(slug(word) in folder.name for word in sys.argv[6:]):
            continue
        try:
            r = judge(folder, examples)
        except Exception as error:
            failed += 1
            print(f"| {folder.name} | {error} |", flush=True)
            continue
        bad = max(r["before"] - r["after"], r["runtime_loss"]) > MAY_LOSE + 1e-9 or r["agree"] < MUST_AGREE
        failed += bad
        print(f"| {r['row']} | {r['opset']} | {r['found'] or '-'} | {r['repairs']} ({r['exact']}) | {r['count']} | {100 * r['before']:.2f}{r['note']} | "
              f"{100 * r['after']:.2f} (-{r['lost']}, +{r['won']}) | {100 * r['agree']:.2f} %{r['after_note']} | {r['runtime']}{' **worse**' if bad else ''} |", flush=True)
    sys.exit(1 if failed else 0)


main()
