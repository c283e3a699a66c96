# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/packed_onnxruntime.py OCTET IMDB FLOAT [FILE...]
"""Sequences of real lengths: octet without padding beside ONNX Runtime with it, in turn in one run.

OCTET: the command, IMDB: a folder with test.tsv.gz, FLOAT: a model folder that octet trained (model.onnx, vocab.txt),
FILE: octet's forms of it (folders).

Reviews of the test set are drawn at random, cut at each CAP and taken in batches as they come; a padded batch is as long
as its longest review. Each file is timed over all batches, packed by `octet bench --lengths`, padded by ONNX Runtime: the
float file, what its quantize_dynamic makes of it, what quantize_static makes (products alone, uint8 activations, by
channel), and octet's forms where it takes them. Tokens a second of the best of the rounds; the ratio is to the fastest of
the padded ones.
Environment: BATCH, BATCHES, CAPS, THREADS, ROUNDS, WORK (a folder for the peer's files, which are kept there).
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
from onnxruntime import quantization

BATCH, BATCHES = int(os.environ.get("BATCH", "32")), int(os.environ.get("BATCHES", "4"))
CAPS = [int(cap) for cap in os.environ.get("CAPS", "128,256,512").split(",")]
THREADS, ROUNDS = int(os.environ.get("THREADS", "1")), int(os.environ.get("ROUNDS", "3"))


def review_lengths(octet, folder, vocabulary):
    """Tokens of so many reviews, special ones included, without a limit."""
    with gzip.open(os.path.join(folder, "test.tsv.gz"), "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[3] for line in file]
    random.Random(7).shuffle(texts)
    texts = texts[: BATCH * BATCHES]
    out = subprocess.run([octet, "tokenize", "--vocab", vocabulary, "--json", "-"], input="\n".join(texts), text=True,
                         capture_output=True, check=True).stdout
    lengths = [len(json.loads(line)["ids"]) for line in out.splitlines()]
    assert len(lengths) == len(texts)
    return lengths


def tokens_of(names, lengths, seed):
    generator = numpy.random.default_rng(seed)
    shape = (len(lengths), max(lengths))
    mask = (numpy.arange(shape[1])[None, :] < numpy.array(lengths)[:, None]).astype(numpy.int64)
    return {name: mask if "mask" in name else mask * generator.integers(0, 2, shape) if "type" in name
            else mask * generator.integers(1000, 20000, shape) for name in names}


class Reader(quantization.CalibrationDataReader):
    def __init__(self, path):
        names = [value.name for value in session(path).get_inputs()]
        self.batches = iter([tokens_of(names, [64] * 4, seed) for seed in range(4)])

    def get_next(self):
        return next(self.batches, None)


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def peer_files(path, work):
    files = {"float": path}
    dynamic = os.path.join(work, "dynamic.onnx")
    if not os.path.exists(dynamic):
        quantization.quantize_dynamic(path, dynamic)
    static = os.path.join(work, "static.onnx")
    if not os.path.exists(static):
        quantization.quantize_static(path, static, Reader(path), per_channel=True, op_types_to_quantize=["MatMul", "Gemm"],
                                     activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8)
    return {**files, "quantize_dynamic": dynamic, "quantize_static": static}


def packed_seconds(octet, model, lengths_file):
    out = subprocess.run([octet, "bench", model, "--lengths", lengths_file, "--threads", str(THREADS), "--seconds", "0",
                          "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["packed_ms_min"] / 1e3


def padded_seconds(one, batches):
    begin = time.perf_counter()
    for feeds in batches:
        one.run(None, feeds)
    return time.perf_counter() - begin


def main():
    octet, imdb, model = sys.argv[1:4]
    work = os.environ.get("WORK") or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    folders = {os.path.basename(path.rstrip("/")): path for path in sys.argv[3:]}
    files = peer_files(os.path.join(model, "model.onnx"), work)
    files.update({"octet's " + name: os.path.join(path, "model.onnx") for name, path in list(folders.items())[1:]})
    sessions = {}
    for name, file in files.items():
        try:
            sessions[name] = session(file)
        except Exception as error:  # pylint: disable=broad-except
            print(f"{name}: {str(error)[:120]}")
    uncut = review_lengths(octet, imdb, os.path.join(model, "vocab.txt"))
    for cap in CAPS:
        lengths = [min(length, cap) for length in uncut]
        batches = [lengths[at: at + BATCH] for at in range(0, len(lengths), BATCH)]
        tokens, padded = sum(lengths), sum(len(batch) * max(batch) for batch in batches)
        print(f"{len(batches)} batches of {BATCH} reviews of at most {cap} tokens, {padded / tokens:.2f} with padding, "
              f"{THREADS} threads")
        lengths_file = os.path.join(work, "lengths.txt")
        with open(lengths_file, "w", encoding="utf-8") as file:
            file.writelines(",".join(map(str, batch)) + "\n" for batch in batches)
        feeds = {name: [tokens_of([value.name for value in one.get_inputs()], batch, 3) for batch in batches]
                 for name, one in sessions.items()}
        times = {}
        for _ in range(ROUNDS):
            for name, path in folders.items():
                key = "octet packed, " + name
                times[key] = min(packed_seconds(octet, path, lengths_file), times.get(key, float("inf")))
            for name, one in sessions.items():
                key = "ONNX Runtime padded, " + name
                times[key] = min(padded_seconds(one, feeds[name]), times.get(key, float("inf")))
        fastest = min(seconds for name, seconds in times.items() if "padded" in name)
        for name, seconds in times.items():
            print(f"  {tokens / seconds:9.0f} tokens/s  {fastest / seconds:5.2f}  {name}")


main()
