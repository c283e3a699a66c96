# SPDX-License-Identifier: Apache-2.0
# usage: examples.py images FASHION_MNIST_FOLDER OUT          writes OUT/calibration.npz and OUT/test.npz
#        examples.py texts IMDB_FOLDER OUT TOKENIZER_FOLDER TOKENS   the same of texts, so many tokens each
"""What every quantizer calibrates with (512 examples) and every file is judged by (10,000 images, 2,000 texts)."""
import gzip
import pathlib
import sys

import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
CALIBRATION, TEXTS = 512, 2000


def images(folder, split):
    def read(name, offset):
        with gzip.open(folder / f"{split}-{name}.gz") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=offset)
    pixels = read("images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    return {"x": (pixels.astype(numpy.float32) / numpy.float32(255) - numpy.float32(0.2860)) / numpy.float32(0.3530)}, read("labels-idx1-ubyte", 8)


def main():
    kind, folder, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if kind == "images":
        (train, train_labels), (test, labels) = images(folder, "train"), images(folder, "t10k")
    else:
        from reviews import reviews, tokens
        read = []
        for split, count in (("train", CALIBRATION), ("test", TEXTS)):
            texts, marks = reviews(folder / f"{split}.tsv.gz", count)
            read.append((tokens(pathlib.Path(sys.argv[4]), texts, int(sys.argv[5])), marks))
        (train, train_labels), (test, labels) = read
    out.mkdir(parents=True, exist_ok=True)
    for name, values, marks, count in (("test", test, labels, len(labels)), ("calibration", train, train_labels, CALIBRATION)):
        numpy.savez(out / f"{name}.npz", **{k: v[:count] for k, v in values.items()}, label=marks[:count].astype(numpy.int64))


main()
