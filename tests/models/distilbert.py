# SPDX-License-Identifier: Apache-2.0
"""DistilBERT imported by octet computes what its weights say, in ONNX Runtime and in octet.

Small models of random weights in safetensors, with the names that Hugging Face's DistilBERT classes have, against the
same encoder in NumPy and double precision. Largest difference allowed: 1e-4. Exported again, the weights have the same
bits.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from encoders import attend, batch, compare, gelu, normalize, octet, read_safetensors, run_both, write_safetensors

VOCABULARY, POSITIONS, WIDTH, WIDE, HEADS, LAYERS = 120, 64, 36, 56, 3, 3
EPSILON = 1e-12  # DistilBERT's configuration has no key for it
CONFIG = {
    "model_type": "distilbert", "vocab_size": VOCABULARY, "max_position_embeddings": POSITIONS, "dim": WIDTH,
    "hidden_dim": WIDE, "n_heads": HEADS, "n_layers": LAYERS, "sinusoidal_pos_embds": False, "tie_weights_": True,
    "dropout": 0.1, "attention_dropout": 0.1, "seq_classif_dropout": 0.2, "pad_token_id": 0, "initializer_range": 0.02,
}
LABELS = {"0": "negative", "1": "neutral", "2": "positive"}


class DistilBert:
    """The encoder of arXiv 1910.01108: BERT's without token types and pooler."""

    def __init__(self, rng, activation):
        self.rng, self.weights = rng, {}
        self.activate = {"gelu": gelu, "relu": lambda x: np.maximum(x, 0)}[activation]
        self.matrix("embeddings.word_embeddings", VOCABULARY, WIDTH)
        self.matrix("embeddings.position_embeddings", POSITIONS, WIDTH)
        self.gain("embeddings.LayerNorm")
        for i in range(LAYERS):
            layer = f"transformer.layer.{i}."
            for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
                self.linear(layer + "attention." + name, WIDTH, WIDTH)
            self.gain(layer + "sa_layer_norm")
            self.linear(layer + "ffn.lin1", WIDE, WIDTH)
            self.linear(layer + "ffn.lin2", WIDTH, WIDE)
            self.gain(layer + "output_layer_norm")
        self.weights = {"distilbert." + name: value for name, value in self.weights.items()}

    def draw(self, name, mean, deviation, *shape):
        self.weights[name] = self.rng.normal(mean, deviation, shape).astype(np.float32)

    def matrix(self, name, *shape):
        self.draw(name + ".weight", 0, 0.3, *shape)

    def linear(self, name, wide, narrow):
        self.matrix(name, wide, narrow)
        self.draw(name + ".bias", 0, 0.3, wide)

    def gain(self, name):
        self.draw(name + ".weight", 1, 0.3, WIDTH)
        self.draw(name + ".bias", 0, 0.3, WIDTH)

    def weight(self, name):
        return self.weights[name if name in self.weights else "distilbert." + name].astype(np.float64)

    def dense(self, x, name):
        return x @ self.weight(name + ".weight").T + self.weight(name + ".bias")

    def norm(self, x, name):
        return normalize(x, self.weight(name + ".weight"), self.weight(name + ".bias"), EPSILON)

    def encode(self, ids, mask):
        x = self.weight("embeddings.word_embeddings.weight")[ids]
        x = self.norm(x + self.weight("embeddings.position_embeddings.weight")[:ids.shape[1]], "embeddings.LayerNorm")
        for i in range(LAYERS):
            layer = f"transformer.layer.{i}."
            parts = (self.dense(x, layer + "attention." + name) for name in ("q_lin", "k_lin", "v_lin"))
            y = self.dense(attend(*parts, mask, HEADS), layer + "attention.out_lin")
            x = self.norm(x + y, layer + "sa_layer_norm")
            y = self.dense(self.activate(self.dense(x, layer + "ffn.lin1")), layer + "ffn.lin2")
            x = self.norm(x + y, layer + "output_layer_norm")
        return x

    def classify(self, x):
        return self.dense(np.maximum(self.dense(x[:, 0], "pre_classifier"), 0), "classifier")

    def predict_tokens(self, x):
        x = self.norm(self.activate(self.dense(x, "vocab_transform")), "vocab_layer_norm")
        return x @ self.weight("embeddings.word_embeddings.weight").T + self.weight("vocab_projector.bias")

    def write(self, folder, **config):
        folder.mkdir()
        write_safetensors(folder / "model.safetensors", self.weights)
        (folder / "config.json").write_text(json.dumps(CONFIG | config))


def check(what, source, work, inputs, want, keep=None):
    """Imports a folder, compares its first output in both runtimes, exports it and compares the weights."""
    octet("import", "hf", source, "-o", work / f"{source.name}-octet/")
    for runtime, got in run_both(work / f"{source.name}-octet", inputs, work).items():
        compare(f"{what}, {runtime}", got, [want], keep)
    again = work / f"{source.name}-again"
    octet("export", "hf", work / f"{source.name}-octet", "-o", again)
    before, after = (read_safetensors(folder / "model.safetensors") for folder in (source, again))
    before.pop("vocab_projector.weight", None)  # the word embeddings once more
    assert before.keys() == after.keys(), before.keys() ^ after.keys()
    assert all(before[k].tobytes() == after[k].tobytes() for k in before), "the weights have changed"


def main(work):
    rng = np.random.default_rng(5)
    inputs = batch(rng, VOCABULARY)
    real = inputs["attention_mask"] == 1

    model = DistilBert(rng, "gelu")
    model.linear("pre_classifier", WIDTH, WIDTH)
    model.linear("classifier", len(LABELS), WIDTH)
    names = {"id2label": LABELS, "label2id": {name: int(i) for i, name in LABELS.items()}}
    model.write(work / "c", architectures=["DistilBertForSequenceClassification"], activation="gelu", **names)
    logits = model.classify(model.encode(*inputs.values()))
    assert np.ptp(logits, axis=0).min() > 0.1, "rows that are nearly alike tell little"
    check("logits", work / "c", work, inputs, logits)
    assert json.loads((work / "c-again/config.json").read_text())["id2label"] == LABELS

    model = DistilBert(rng, "relu")
    model.linear("vocab_transform", WIDTH, WIDTH)
    model.gain("vocab_layer_norm")
    model.draw("vocab_projector.bias", 0, 0.3, VOCABULARY)
    model.weights["vocab_projector.weight"] = model.weights["distilbert.embeddings.word_embeddings.weight"]
    model.write(work / "lm", architectures=["DistilBertForMaskedLM"], activation="relu")
    check("masked tokens", work / "lm", work, inputs, model.predict_tokens(model.encode(*inputs.values())), real)

    model = DistilBert(rng, "gelu")
    states = model.encode(*inputs.values())
    model.weights = {name.removeprefix("distilbert."): value for name, value in model.weights.items()}
    model.write(work / "encoder", architectures=["DistilBertModel"], activation="gelu")
    check("hidden states", work / "encoder", work, inputs, states, real)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(pathlib.Path(folder))
