#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Seconds of a training step of BERT mini (4 layers, 256 hidden, classifier; batch 32, sequence 128): octet and Hugging
# Face's model in PyTorch, same weights, batches and optimizer, in turns on this machine. Prints best and median of both,
# the losses of the first steps and the peak memory.
# usage: python3 bench/train_bert_pytorch.py OCTET_BENCH_TRAIN_STEPS [THREADS] [DROPOUT] [ROUNDS]      needs torch and transformers
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

program = sys.argv[1]
threads, dropout, rounds = int((sys.argv[2:] or [2])[0]), float((sys.argv[3:] or [0])[0]), int((sys.argv[4:] or [8])[0])
torch.set_num_threads(threads)
torch.manual_seed(0)
weights = tempfile.mktemp(suffix=".npz")
octet = subprocess.Popen([program, "bert-mini", "float", str(threads), str(dropout), weights], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)


def octet_steps(count):
    octet.stdin.write(f"{count}\n")
    octet.stdin.flush()
    return octet_answer()


def octet_answer():
    _, seconds, loss, kilobytes = octet.stdout.readline().split()
    return float(seconds), float(loss), int(kilobytes)


first = octet_answer()
config = BertConfig(vocab_size=30522, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024,
                    hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, num_labels=2)
model = BertForSequenceClassification(config)
held = np.load(weights)
state = model.state_dict()
for name, tensor in state.items():
    if name not in held.files:
        continue
    value = torch.from_numpy(held[name].copy())
    square_and_turned = ".dense.weight" in name or ".self." in name and name.endswith("weight")
    if tensor.shape != value.shape or (square_and_turned and "pooler" not in name):
        value = value.T
    tensor.copy_(value)
model.train()
small = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
large = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
optimizer = torch.optim.AdamW([{"params": large, "weight_decay": 0.01}, {"params": small, "weight_decay": 0}], lr=1e-4)


def batch(step):
    indices = torch.arange(32)[:, None] + 32 * step
    places = torch.arange(128)[None, :]
    ids = 1000 + (indices * 7919 + places * 104729 + indices * places % 1009) % 29000
    return ids, (places < 128 - indices % 32).long(), (indices[:, 0] % 2)


def torch_steps(count):
    start = time.perf_counter()
    for step in range(count):
        ids, mask, labels = batch(step)
        optimizer.zero_grad()
        loss = model(input_ids=ids, attention_mask=mask, token_type_ids=torch.zeros_like(ids), labels=labels).loss
        loss.backward()
        optimizer.step()
        loss.item()
    return time.perf_counter() - start, loss.item(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


print(f"first loss: octet {first[1]:.5f}, PyTorch {torch_steps(1)[1]:.5f} (other examples)")
times = {"octet": [], "PyTorch": []}
for _ in range(rounds):
    for name, run in (("octet", octet_steps), ("PyTorch", torch_steps)):
        seconds, loss, kilobytes = run(2)
        times[name].append(seconds / 2)
        times[name + " memory"] = kilobytes
octet.stdin.close()
for name in ("octet", "PyTorch"):
    print(f"{name}: best {min(times[name]):.3f} s a step, median {sorted(times[name])[len(times[name]) // 2]:.3f} s, "
          f"peak memory {times[name + ' memory'] / 1024:.0f} MB")
