# SPDX-License-Identifier: Apache-2.0
# usage: ~/.cache/octet/algorithms-1/bin/python bench/torch_families.py FOLDER [NAME...]   (tools/algorithms makes that environment)
"""Writes small networks as PyTorch's exporter writes them (all, or the named ones), of families that bench/families.py has not, with
drawn weights: for bench/models_onnxruntime.py and bench/int8_models_onnxruntime.py."""
import pathlib
import sys
import warnings

import torch
from torch import nn
from torch_networks import images, numbers, sequences  # which fill the list
from torch_networks.family import FAMILIES

OPSET = 17


def main():
    warnings.filterwarnings("ignore")
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(FAMILIES)
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        sys.exit(f"no family {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path, (network, shape, below) = folder / f"{name}.onnx", FAMILIES[name]
        if path.exists():
            sys.exit(f"{path} exists")
        torch.manual_seed(1)
        model = network().eval()
        for layer in model.modules():
            if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
                layer.running_mean.normal_(0, 0.1)
                layer.running_var.uniform_(0.5, 1.5)
        x = torch.randn(shape) if below is None else torch.randint(0, below, shape)
        torch.onnx.export(model, (x,), path, opset_version=OPSET, dynamo=False, input_names=["x"])
        print(path)


main()
