# SPDX-License-Identifier: Apache-2.0
# IMDB's reviews as the tokens of Hugging Face's tokenizer.
import gzip

import numpy
from tokenizers import Tokenizer

LENGTH = 128


def reviews(path, count):
    """As many negative as positive ones: the file may hold one label after the other."""
    texts = {0: [], 1: []}
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            _, _, label, text = line.rstrip("\n").split("\t", 3)
            if len(texts[int(label)]) < count // 2:
                texts[int(label)].append(text)
    pairs = [(text, label) for both in zip(texts[0], texts[1]) for text, label in zip(both, (0, 1))]
    return [p[0] for p in pairs], numpy.array([p[1] for p in pairs])


def tokens(folder, texts, length=LENGTH):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(length)
    tokenizer.enable_padding(length=length)
    rows = tokenizer.encode_batch(texts)
    return {"input_ids": numpy.array([r.ids for r in rows], numpy.int64),
            "attention_mask": numpy.array([r.attention_mask for r in rows], numpy.int64),
            "token_type_ids": numpy.array([r.type_ids for r in rows], numpy.int64)}
