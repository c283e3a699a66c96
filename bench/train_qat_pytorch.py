#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The price of a quantization-aware training step over a float one on the small CNN (batch 128): octet, PyTorch's own
# (torch.ao.quantization, its default x86 configuration) and Brevitas (8-bit weights per channel, activations per tensor,
# ranges learned), in turns on this machine; octet on BERT mini too. Prints best and median of each and the ratios.
# usage: python3 bench/train_qat_pytorch.py OCTET_BENCH_TRAIN_STEPS [THREADS] [ROUNDS]      needs torch and brevitas
import copy
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

program, threads, rounds = sys.argv[1], int((sys.argv[2:] or [2])[0]), int((sys.argv[3:] or [6])[0])
torch.set_num_threads(threads)
torch.manual_seed(0)


class Octet:
    def __init__(self, network, mode):
        self.process = subprocess.Popen([program, network, mode, str(threads), "0", tempfile.mktemp(suffix=".npz")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def __call__(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[1])


class Torch:
    def __init__(self, model):
        self.model = model.train()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
        self.x, self.y = torch.randn(128, 1, 28, 28), torch.randint(0, 10, (128,))
        self(2)

    def __call__(self, count):
        start = time.perf_counter()
        for _ in range(count):
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(self.x), self.y)
            loss.backward()
            self.optimizer.step()
            loss.item()
        return time.perf_counter() - start


def float_network():
    return nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 64, 3, 2), nn.ReLU(), nn.AvgPool2d(3, 2), nn.Flatten(),
                         nn.Linear(256, 128), nn.Linear(128, 10))


def pytorch_qat():
    from torch.ao import quantization as q
    model = nn.Sequential(q.QuantStub(), *copy.deepcopy(float_network()), q.DeQuantStub())
    model.qconfig = q.get_default_qat_qconfig("x86")
    return q.prepare_qat(model.train())


def brevitas_qat():
    import brevitas.nn as bnn
    from brevitas.quant import Int8ActPerTensorFloat, Int8WeightPerChannelFloat, Uint8ActPerTensorFloat
    weight = {"weight_quant": Int8WeightPerChannelFloat}
    return nn.Sequential(bnn.QuantIdentity(act_quant=Int8ActPerTensorFloat), bnn.QuantConv2d(1, 8, 3, 2, **weight),
                         bnn.QuantReLU(act_quant=Uint8ActPerTensorFloat), bnn.QuantConv2d(8, 64, 3, 2, **weight),
                         bnn.QuantReLU(act_quant=Uint8ActPerTensorFloat), nn.AvgPool2d(3, 2), nn.Flatten(),
                         bnn.QuantIdentity(act_quant=Int8ActPerTensorFloat), bnn.QuantLinear(256, 128, True, **weight),
                         bnn.QuantIdentity(act_quant=Int8ActPerTensorFloat), bnn.QuantLinear(128, 10, True, **weight))


def compare(title, count, candidates):
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            times[name].append(run(count) / count)
    print(title)
    for name, list_of in times.items():
        base = times[name.split(" ")[0] + " float"]
        print(f"  {name:16} best {1000 * min(list_of):8.2f} ms, median {1000 * sorted(list_of)[len(list_of) // 2]:8.2f} ms, "
              f"of float: best {min(list_of) / min(base):.2f}, "
              f"median {sorted(list_of)[len(list_of) // 2] / sorted(base)[len(base) // 2]:.2f}")


reference = Torch(float_network())
compare("CNN", 40, {"octet float": Octet("cnn", "float"), "octet QAT": Octet("cnn", "qat"), "octet LSQ": Octet("cnn", "lsq"),
                    "PyTorch float": reference, "PyTorch QAT": Torch(pytorch_qat()),
                    "Brevitas float": reference, "Brevitas QAT": Torch(brevitas_qat())})
compare("BERT mini", 2, {"octet float": Octet("bert-mini", "float"), "octet QAT": Octet("bert-mini", "qat"),
                         "octet LSQ": Octet("bert-mini", "lsq")})
