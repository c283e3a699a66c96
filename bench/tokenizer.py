# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench tokenizer
"""The tokenizer beside Hugging Face's, one thread each, in turn, on the same reviews.

Reads IMDB's test reviews and the uncased BERT vocabulary from OCTET_DATA (or ../shared/data). octet's side is
`octet_bench_tokenizer`; Hugging Face's encodes the same texts one by one, with RAYON_NUM_THREADS=1.
"""
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tokenizers  # noqa: E402 - after the settings that it reads

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("OCTET_DATA", ROOT.parent / "shared" / "data"))
BINARY = os.environ.get("OCTET_BENCH_TOKENIZER") or ROOT / "build" / "release" / "bin" / "octet_bench_tokenizer"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SAMPLE = 1500


def octet_speed():
    out = subprocess.run([BINARY, "--benchmark_filter=bm_reviews/offsets:1", "--benchmark_format=json",
                          "--benchmark_min_time=0.5"],
                         check=True, capture_output=True, text=True, env={**os.environ, "OCTET_DATA": str(DATA)})
    result = json.loads(out.stdout)["benchmarks"][0]
    return result["bytes_per_second"], result["tokens"]


def peer_speed(peer, texts):
    begin = time.perf_counter()
    tokens = sum(len(peer.encode(text).ids) for text in texts)
    seconds = time.perf_counter() - begin
    return sum(len(text.encode()) for text in texts) / seconds, tokens / seconds


def main():
    with gzip.open(DATA / "imdb" / "test.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        texts = [line.rstrip("\n").split("\t")[3] for _, line in zip(range(SAMPLE), file)]
    peer = tokenizers.Tokenizer.from_file(str(DATA / "vocab" / "bert-base-uncased" / "tokenizer.json"))
    rounds = [(*octet_speed(), *peer_speed(peer, texts)) for _ in range(ROUNDS)]
    ours, our_tokens, theirs, their_tokens = (statistics.median(column) for column in zip(*rounds))
    print(f"octet, with offsets        {ours / 1e6:8.2f} MB/s {our_tokens / 1e6:8.2f} million tokens/s")
    print(f"tokenizers {tokenizers.__version__}          {theirs / 1e6:8.2f} MB/s {their_tokens / 1e6:8.2f} million tokens/s")
    ratios = [r[0] / r[2] for r in rounds]
    print(f"ratio, {ROUNDS} rounds: median {statistics.median(ratios):.1f}, lowest {min(ratios):.1f}")


if __name__ == "__main__":
    main()
