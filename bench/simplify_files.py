# SPDX-License-Identifier: Apache-2.0
# Exports with random weights as PyTorch and transformers write them, for bench/simplify_onnxsim.py: BERT base, BERT of two
# layers by both exporters, and convolutions with what older exporters put around them.
# usage: python3 bench/simplify_files.py FOLDER      needs torch, onnxscript and transformers; BERT base takes 440 MB
import pathlib
import sys
import warnings

import torch
from transformers import BertConfig, BertModel

FOLDER = pathlib.Path(sys.argv[1])
NAMES = ["input_ids", "attention_mask", "token_type_ids"]
TOKENS = tuple(torch.ones(2, 8, dtype=torch.int64) for _ in NAMES)
AXES = {name: {0: "batch", 1: "sequence"} for name in NAMES}
OPEN = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}


class LastHidden(torch.nn.Module):
    """Inputs by position, one tensor out."""

    def __init__(self, layers, attention, activation):
        super().__init__()
        config = BertConfig(num_hidden_layers=layers, hidden_act=activation)
        config._attn_implementation = attention
        self.bert = BertModel(config, add_pooling_layer=False)

    def forward(self, ids, mask, types):
        return self.bert(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for width in (16, 32, 32, 64):
            layers += [torch.nn.ZeroPad2d((0, 1, 0, 1)), torch.nn.Conv2d(channels, width, 3, stride=2, bias=False),
                       torch.nn.BatchNorm2d(width), torch.nn.ReLU6()]
            channels = width
        self.layers = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)


def script(name, opset, model, inputs=TOKENS, names=NAMES, axes=None):
    torch.onnx.export(model, inputs, FOLDER / f"{name}.onnx", opset_version=opset, input_names=names, output_names=["y"],
                      dynamic_axes=axes, dynamo=False)


def dynamo(name, opset, model, sizes=None):
    torch.onnx.export(model, TOKENS, FOLDER / f"{name}.onnx", opset_version=opset, input_names=NAMES, output_names=["y"],
                      dynamic_shapes=(sizes,) * 3 if sizes else None, dynamo=True, external_data=False)


def bert(layers=2, attention="sdpa", activation="gelu"):
    return LastHidden(layers, attention, activation).eval()


warnings.simplefilter("ignore")
torch.manual_seed(0)
FOLDER.mkdir(parents=True, exist_ok=True)
script("bert-base-script-17-open", 17, bert(layers=12), axes=AXES)
script("bert-script-11-eager-open", 11, bert(attention="eager"), axes=AXES)
script("bert-script-13-eager", 13, bert(attention="eager"))
script("bert-script-17", 17, bert())
script("bert-script-17-open", 17, bert(), axes=AXES)
script("bert-script-20-open", 20, bert(), axes=AXES)
script("bert-gelu-new-script-20-open", 20, bert(activation="gelu_new"), axes=AXES)
dynamo("bert-dynamo-18-open", 18, bert(), OPEN)
dynamo("bert-dynamo-20", 20, bert())
script("convolutions-11", 11, Convolutions().eval(), (torch.zeros(1, 3, 64, 64),), ["x"], {"x": {0: "batch"}})
