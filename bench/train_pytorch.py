#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Seconds of one training epoch of the small CNN in PyTorch eager: the same network, data, batches and optimizer as
# bench/train.cc. The images are one tensor and a batch is one index operation, which is faster than a DataLoader.
# usage: python3 bench/train_pytorch.py FASHION_MNIST_FOLDER [THREADS] [EPOCHS]
import gzip
import sys
import time

import numpy as np
import torch
from torch import nn

folder, threads, epochs = sys.argv[1], int((sys.argv[2:] or [2])[0]), int((sys.argv[3:] or [4])[0])
torch.set_num_threads(threads)
torch.manual_seed(0)


def read(name, offset):
    with gzip.open(f"{folder}/{name}.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def images(split):
    pixels = read(f"{split}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    labels = read(f"{split}-labels-idx1-ubyte", 8)
    return torch.from_numpy((pixels.astype(np.float32) / 255 - 0.2860) / 0.3530), torch.from_numpy(labels.astype(np.int64))


x, y = images("train")
test_x, test_y = images("t10k")
dropout = 0.05
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 64, 3, 2), nn.ReLU(), nn.AvgPool2d(3, 2), nn.Flatten(),
    nn.Dropout(dropout), nn.Linear(256, 128), nn.Dropout(dropout), nn.Linear(128, 10))
loss_of = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
steps = (len(x) + 127) // 128
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps * epochs)
for epoch in range(epochs):
    model.train()
    start = time.perf_counter()
    order = torch.randperm(len(x))
    total = 0.0
    for i in range(0, len(x), 128):
        batch = order[i:i + 128]
        optimizer.zero_grad()
        loss = loss_of(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item() * len(batch)
    seconds = time.perf_counter() - start
    model.eval()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch + 1}: {seconds:.3f} s, loss {total / len(x):.4f}, test accuracy {accuracy:.4f}", flush=True)
