#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The recipe of docs/bert.md in PyTorch with Hugging Face's model: one epoch of one-cycle AdamW at 1e-4 on reviews of 128
# tokens in batches of 32, then the accuracy on the test reviews with its 95 % interval.
# usage: python3 bench/finetune_pytorch.py MODEL TRAIN.tsv.gz TEST.tsv.gz [EXAMPLES] [THREADS]      needs torch and transformers
# TRAIN, TEST: lines of number, stars, label (0 or 1) and text, between tabs. MODEL: a folder of Hugging Face's.
import gzip
import sys
import time

import numpy
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

model_folder, train_file, test_file = sys.argv[1:4]
examples, threads = int((sys.argv[4:] or [8000])[0]), int((sys.argv[5:] or [2])[0])
BATCH, LENGTH, RATE = 32, 128, 1e-4
torch.set_num_threads(threads)
torch.manual_seed(0)
tokenizer = AutoTokenizer.from_pretrained(model_folder)
model = AutoModelForSequenceClassification.from_pretrained(model_folder, num_labels=2)


def reviews(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t", 3) for line in lines]
    return [row[3] for row in rows], numpy.array([int(row[2]) for row in rows])


def batch(texts, labels, chosen):
    tokens = tokenizer([texts[i] for i in chosen], truncation=True, max_length=LENGTH, padding=True, return_tensors="pt")
    return tokens, torch.tensor(labels[chosen])


texts, labels = reviews(train_file)
order = numpy.random.default_rng(0).permutation(len(texts))[:examples]
steps = (len(order) + BATCH - 1) // BATCH
optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=RATE, total_steps=steps)
model.train()
start = time.time()
for step in range(steps):
    tokens, target = batch(texts, labels, order[step * BATCH:(step + 1) * BATCH])
    loss = model(**tokens, labels=target).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    if step % 25 == 24:
        print(f"step {step + 1}/{steps}, loss {loss.item():.4f}, {time.time() - start:.0f} s", flush=True)

texts, labels = reviews(test_file)
order = numpy.array(sorted(range(len(texts)), key=lambda i: len(texts[i])))
right = 0
model.eval()
with torch.inference_mode():
    for at in range(0, len(order), BATCH):
        tokens, target = batch(texts, labels, order[at:at + BATCH])
        right += (model(**tokens).logits.argmax(1) == target).sum().item()
share = right / len(order)
interval = 1.96 * (share * (1 - share) / len(order)) ** 0.5
print(f"accuracy {100 * share:.2f} % +- {100 * interval:.2f} on {len(order)} reviews")
