# SPDX-License-Identifier: Apache-2.0
"""What an encoder computes, in NumPy and double precision; weights in safetensors; octet's runs beside it.

Sources: arXiv 1706.03762 (attention), 1607.06450 (normalization), 1606.08415 (GELU); the layout of safetensors files.
"""
import json
import math
import os
import pathlib
import struct
import subprocess

import numpy as np
import onnxruntime

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


def write_safetensors(path, weights):
    """float32 arrays by name."""
    header, data = {}, b""
    for name, value in weights.items():
        begin = len(data)
        data += value.astype(np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def normalize(x, gain, bias, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * gain + bias


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def attend(query, key, value, mask, heads):
    """Scaled dot products of [rows, length, width] in so many heads; mask [rows, length] is 1 where there is a token."""
    rows, length, width = query.shape

    def split(x):
        return x.reshape(rows, length, heads, width // heads).transpose(0, 2, 1, 3)

    scores = split(query) @ split(key).swapaxes(-1, -2) / math.sqrt(width // heads)
    scores = np.where(mask[:, None, None, :] == 1, scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    y = scores / scores.sum(-1, keepdims=True) @ split(value)
    return y.transpose(0, 2, 1, 3).reshape(rows, length, width)


def octet(*arguments):
    subprocess.run([OCTET, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def batch(rng, vocabulary):
    """input_ids and attention_mask of three rows of other lengths."""
    lengths = np.array([48, 7, 2])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    return {"input_ids": rng.integers(0, vocabulary, mask.shape) * mask, "attention_mask": mask}


def compare(what, got, want, keep=None):
    worst = max(np.abs(g - w)[... if keep is None else keep].max() for g, w in zip(got, want, strict=True))
    print(f"{what}: largest difference {worst:.3g}")
    assert worst <= LIMIT, f"{what} differs by {worst}"


def run_both(folder, inputs, work):
    """The outputs of a model folder in ONNX Runtime and in octet's native executor."""
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    np.savez(work / "inputs.npz", **inputs)
    octet("run", folder, "--inputs", work / "inputs.npz", "-o", work / "outputs.npz", "--force")
    native = np.load(work / "outputs.npz")
    return {"ONNX Runtime": session.run(None, inputs), "native": [native[o.name] for o in session.get_outputs()]}
