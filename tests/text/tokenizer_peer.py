# SPDX-License-Identifier: Apache-2.0
"""The tokenizer against Hugging Face's fast one: ids, type ids, masks, offsets, words and decoded text must be equal.

octet_test_text does octet's half (TokenizerPeer, disabled in a plain run). Texts: every code point alone and inside a
word, random mixtures of what is difficult, invalid UTF-8, pairs, truncation, and the IMDB reviews (one in 50; all with
OCTET_LONG=1). Tokenizers: the published uncased vocabulary with each combination of the normalizer's settings.
"""
import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy as np
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("OCTET_DATA", ROOT.parent / "shared" / "data"))
LONG = os.environ.get("OCTET_LONG") == "1"
BINARY = os.environ.get("OCTET_PEER_BINARY") or pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet_test_text"
PORTION = 5000

# Marks that survive strip_accents because Hugging Face's tables do not know them as such, or that reorder.
MARKS = [0x300, 0x301, 0x316, 0x334, 0x345, 0x344, 0x302E, 0x302F, 0x1D165, 0x1D16D, 0x7FD, 0x8CA, 0x5B0, 0x64B, 0xF73,
         0xF71, 0x94D, 0x0C3C, 0x1ABF, 0x20E3, 0xFE0F]
ODD = [0, 1, 9, 10, 11, 12, 13, 28, 31, 127, 0x85, 0xA0, 0xAD, 0x130, 0x131, 0x3A3, 0x3C2, 0xDF, 0x1E9E, 0x149, 0x1F0,
       0x200B, 0x200D, 0x2028, 0x3000, 0x4E00, 0x9FFF, 0x2B820, 0x2B920, 0xF900, 0xAC00, 0xAC01, 0x1100, 0x1F600,
       0x1F468, 0x1F3FD, 0xE000, 0xFDD0, 0xFFFD, 0xFFFF, 0x378, 0x10FFFF, 0xE0041, 0x1D15E, 0x212B, 0xFB01, 0x1F82,
       0x390, 0x16FE4, 0x11938, 0xA7CE, 0x61D, 0x166D]
ASCII = [ord(c) for c in "aabcdeEAstnTZ09 .,'-[]#_$  "]
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[mask]", "[SE", "SEP]", "##", "[unused1]"]
INVALID = [b"\x80", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
           b"\xe0\x80", b"\xf8\x88\x80\x80\x80"]


def code_points():
    """Alone and inside a word; a text holds 64 of them, with OCTET_LONG=1 one."""
    step = 1 if LONG else 64
    for first in range(0, 0x110000, step):
        if not 0xD800 <= first <= 0xDFFF:
            codes = [chr(code) for code in range(first, first + step)]
            yield " ".join(codes).encode()
            yield " ".join(f"un{code}able" for code in codes).encode()


def mixtures(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(0, 24)):
            kind = rng.random()
            if kind < 0.45:
                parts.append(chr(rng.choice(ASCII)).encode())
            elif kind < 0.65:
                parts.append(chr(rng.choice(MARKS)).encode())
            elif kind < 0.8:
                parts.append(chr(rng.choice(ODD)).encode())
            elif kind < 0.88:
                parts.append(rng.choice(SPECIAL).encode())
            elif kind < 0.93:
                parts.append(rng.choice(INVALID))
            else:
                code = rng.choice([rng.randrange(0x800), rng.randrange(0x3000), rng.randrange(0x20000)])
                parts.append(b"" if 0xD800 <= code <= 0xDFFF else chr(code).encode())
        yield b"".join(parts)


def extremes():
    yield b""
    yield b" \t\n"
    for letter in ["a", "\u00e9", "e\u0301", "\uac00", "\u4e00", "#", "\U0001f600", "\u0301", "\u302e\U0001d165"]:
        for count in [33, 34, 49, 50, 51, 99, 100, 101, 10000]:
            yield (letter * count).encode()
            yield ("a" + letter * count + " b").encode()
    for word in ["don't do not isn't he's we've they're I'm ok . yes ! 3.5 ? a , b", "\u0130stanbul I\u0307 \u0131",
                 "\u039f\u0394\u039f\u03a3 \u03a3\u03a3", "\U0001f468\u200d\U0001f469\u200d\U0001f467 ok\ufe0f"]:
        yield word.encode()


def reviews():
    for name in ["train", "test", "unsup"]:
        with gzip.open(DATA / "imdb" / f"{name}.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
            for i, line in enumerate(file):
                if LONG or i % 50 == 0:
                    yield line.rstrip("\n").split("\t")[3].encode()


def variant(folder, **normalizer):
    """The published tokenizer.json with other settings of the normalizer."""
    with open(DATA / "vocab" / "bert-base-uncased" / "tokenizer.json", encoding="utf-8") as file:
        content = json.load(file)
    content["normalizer"].update(normalizer)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def ours(folder, path, texts, pairs, max_length):
    (folder / "texts").write_bytes(b"".join(struct.pack("<I", len(text)) + text for text in texts))
    subprocess.run(
        [BINARY, "--gtest_also_run_disabled_tests", "--gtest_filter=TokenizerPeer.*", "--gtest_brief=1"],
        env={**os.environ, "OCTET_PEER_FOLDER": str(folder), "OCTET_PEER_TOKENIZER": str(path),
             "OCTET_PEER_PAIRS": "1" if pairs else "0", "OCTET_PEER_MAX_LENGTH": str(max_length)},
        check=True, stdout=subprocess.DEVNULL)
    words = np.fromfile(folder / "encodings", dtype=np.int32)
    decoded = (folder / "decoded").read_bytes()
    at = text_at = 0
    while at < len(words):
        count = int(words[at])
        parts = np.split(words[at + 1:at + 1 + 6 * count], [count, 3 * count, 4 * count, 5 * count])
        size = struct.unpack_from("<I", decoded, text_at)[0]
        yield [part.tolist() for part in parts], decoded[text_at + 4:text_at + 4 + size].decode()
        at += 1 + 6 * count
        text_at += 4 + size


def theirs(encoding, tokenizer):
    offsets = [value for pair in encoding.offsets for value in pair]
    words = [-1 if word is None else word for word in encoding.word_ids]
    return [encoding.ids, offsets, words, encoding.type_ids,
            encoding.special_tokens_mask], tokenizer.decode(encoding.ids)


def compare(name, folder, path, texts, pairs=False, max_length=0):
    peer = Tokenizer.from_file(str(path))
    if max_length:
        peer.enable_truncation(max_length)
    count = tokens = 0
    texts = iter(texts)
    while portion := [text for _, text in zip(range(PORTION), texts)]:
        half = len(portion) // 2
        portion = portion[:2 * half] if pairs else portion
        readable = [text.decode("utf-8", "replace") for text in portion]
        inputs = list(zip(readable[:half], readable[half:])) if pairs else readable
        results = list(ours(folder, path, portion, pairs, max_length))
        assert len(results) == len(inputs), (name, len(results), len(inputs))
        for given, result, encoding in zip(inputs, results, peer.encode_batch(inputs)):
            expected = theirs(encoding, peer)
            tokens += len(encoding.ids)
            if result != expected:
                sys.exit(f"{name}: {given!a}\n  octet        {result}\n  Hugging Face {expected}")
        count += len(inputs)
    print(f"{name}: {count} texts, {tokens} tokens agree", flush=True)


def compare_settings(folder):
    for settings in range(16):
        choice = dict(clean_text=not settings & 1, handle_chinese_chars=not settings & 2,
                      lowercase=not settings & 4, strip_accents=[None, settings & 4 != 0][settings >> 3])
        path = variant(folder, **choice)
        compare(f"mixtures {choice}", folder, path, mixtures(100000 if LONG else 2000, settings))
        compare(f"extremes {choice}", folder, path, extremes())


def compare_lengths(folder):
    path = variant(folder)
    for length in [2, 3, 4, 5, 8, 13, 64]:
        compare(f"at most {length}", folder, path, mixtures(1000, length), max_length=length)
        if length > 3:
            compare(f"pairs, at most {length}", folder, path, mixtures(2000, length), pairs=True, max_length=length)
    compare("pairs", folder, path, mixtures(2000, 99), pairs=True)


def compare_code_points(folder):
    for choice in [dict(lowercase=True), dict(lowercase=True, strip_accents=False),
                   dict(lowercase=False, strip_accents=True, clean_text=False)]:
        compare(f"code points {choice}", folder, variant(folder, **choice), code_points())


def compare_reviews(folder):
    for choice in [dict(lowercase=True), dict(lowercase=False)]:
        compare(f"reviews {choice}", folder, variant(folder, **choice), reviews())


def main():
    """Arguments name parts; without any, all run."""
    parts = dict(settings=compare_settings, lengths=compare_lengths, code_points=compare_code_points,
                 reviews=compare_reviews)
    with tempfile.TemporaryDirectory() as name:
        for part in sys.argv[1:] or parts:
            parts[part](pathlib.Path(name))


if __name__ == "__main__":
    main()
