# SPDX-License-Identifier: Apache-2.0
# PyTorch eager's side of the checks: the networks of octet_bench_train_steps with their batches and optimizers, float,
# with fake quantization by extremes (qat) and with learned steps (lsq), and FP8 products as octet's CPU defines them.
import time

import torch
from torch import nn
from torch.nn import functional as F

LENGTH, VOCABULARY, HIDDEN, LAYERS, HEADS = 128, 30522, 256, 4, 4


class Quantized(nn.Module):
    """A layer whose weight goes through int8 codes by channel and whose input through int8 codes of one scale."""

    def __init__(self, layer, learned):
        super().__init__()
        self.layer, self.learned = layer, learned
        channels = layer.weight.shape[0]
        scale = layer.weight.detach().abs().flatten(1).amax(1) / 127
        self.register_buffer("zeros", torch.zeros(channels, dtype=torch.int32))
        self.register_buffer("zero", torch.zeros(1, dtype=torch.int32))
        keep = nn.Parameter if learned else (lambda t: t)
        self.weight_scale = keep(scale) if learned else None
        step = torch.tensor([0.05])
        if learned:
            self.step = nn.Parameter(step)
        else:
            self.register_buffer("step", step)

    def forward(self, x):
        w = self.layer.weight
        if self.learned:
            x = torch._fake_quantize_learnable_per_tensor_affine(x, self.step, self.zero.float(), -128, 127, 1.0)
            w = torch._fake_quantize_learnable_per_channel_affine(w, self.weight_scale, self.zeros.float(), 0, -128, 127, 1.0)
        else:
            x = torch.fake_quantize_per_tensor_affine(x, self.step, self.zero, -128, 127)
            scale = w.detach().abs().flatten(1).amax(1).clamp_min(1e-8) / 127
            w = torch.fake_quantize_per_channel_affine(w, scale, self.zeros, 0, -128, 127)
        if isinstance(self.layer, nn.Conv2d):
            return F.conv2d(x, w, self.layer.bias, self.layer.stride)
        return F.linear(x, w, self.layer.bias)


def cnn():
    return nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 64, 3, 2), nn.ReLU(), nn.AvgPool2d(3, 2), nn.Flatten(),
                         nn.Dropout(0.1), nn.Linear(256, 128), nn.Dropout(0.1), nn.Linear(128, 10))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(HIDDEN, HIDDEN) for _ in range(4))
        self.wide, self.narrow = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.norm, self.last_norm = nn.LayerNorm(HIDDEN, eps=1e-12), nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, x, mask):
        def heads(t):
            return t.view(*t.shape[:2], HEADS, -1).transpose(1, 2)
        drop = 0.1 if self.training else 0.0
        mixed = F.scaled_dot_product_attention(heads(self.query(x)), heads(self.key(x)), heads(self.value(x)), mask, drop)
        x = self.norm(x + F.dropout(self.out(mixed.transpose(1, 2).flatten(2)), drop))
        return self.last_norm(x + F.dropout(self.narrow(F.gelu(self.wide(x))), drop))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.types = (nn.Embedding(n, HIDDEN) for n in (VOCABULARY, 512, 2))
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler, self.classifier = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 2)

    def forward(self, ids, mask, types):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = F.dropout(self.norm(self.words(ids) + self.places(places) + self.types(types)), 0.1)
        added = ((1 - mask.float()) * -10000)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, added)
        return self.classifier(F.dropout(torch.tanh(self.pooler(x[:, 0])), 0.1))


def quantize(module, learned):
    for name, child in module.named_children():
        if isinstance(child, (nn.Linear, nn.Conv2d)):
            setattr(module, name, Quantized(child, learned))
        else:
            quantize(child, learned)


class Steps:
    """Training steps in turn; a batch is copied to the device for each, and the loss read every 32, as octet does."""

    def __init__(self, network, mode, device):
        torch.manual_seed(0)
        self.device, self.is_cnn = device, network == "cnn"
        model = cnn() if self.is_cnn else Bert()
        if mode != "float":
            quantize(model if self.is_cnn else model.layers, mode == "lsq")
        self.model = model.to(device).train()
        if self.is_cnn:
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)
        else:
            small = [p for n, p in self.model.named_parameters() if p.dim() < 2]
            large = [p for n, p in self.model.named_parameters() if p.dim() >= 2]
            self.optimizer = torch.optim.AdamW([{"params": large, "weight_decay": 0.01}, {"params": small, "weight_decay": 0}],
                                               lr=1e-4, fused=True)
        self.taken = 0
        self.batches = [self.batch(i) for i in range(8)]

    def batch(self, step):
        if self.is_cnn:
            inputs, labels = (torch.randn(128, 1, 28, 28),), torch.randint(0, 10, (128,))
        else:
            rows, columns = torch.arange(32)[:, None] + 32 * step, torch.arange(LENGTH)[None, :]
            ids = 1000 + (rows * 7919 + columns * 104729 + rows * columns % 1009) % 29000
            inputs, labels = (ids, (columns < LENGTH - rows % 32).long(), torch.zeros_like(ids)), rows[:, 0] % 2
        if self.device == "cuda":
            return tuple(t.pin_memory() for t in inputs), labels.pin_memory()
        return inputs, labels

    def steps(self, count):
        start = time.perf_counter()
        for _ in range(count):
            inputs, labels = self.batches[self.taken % len(self.batches)]
            self.taken += 1
            inputs = [t.to(self.device, non_blocking=True) for t in inputs]
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(*inputs), labels.to(self.device, non_blocking=True))
            loss.backward()
            self.optimizer.step()
            if self.taken % 32 == 0:
                loss.item()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def close(self):
        del self.model, self.optimizer, self.batches


def fp8_products(device):
    """x8 w8 / (sx sw) for E4M3 and E5M2 operands: the device's product of codes against sums of codes in f64."""
    torch.manual_seed(1)
    worst = 0.0
    for left, right, (m, k, n) in ((torch.float8_e4m3fn, torch.float8_e4m3fn, (64, 256, 128)),
                                   (torch.float8_e5m2, torch.float8_e4m3fn, (512, 1024, 256))):
        x, w = torch.randn(m, k), torch.randn(k, n) / 16

        def codes(t, dtype):
            largest = torch.finfo(dtype).max
            scale = largest / t.abs().amax()
            return (t * scale).clamp(-largest, largest).to(dtype), scale
        (x8, sx), (w8, sw) = codes(x, left), codes(w, right)
        wanted = (x8.double() @ w8.double()) / (sx.double() * sw.double())
        turned = w8.t().contiguous().to(device).t()  # the product wants the second operand by columns
        got = torch._scaled_mm(x8.to(device), turned, scale_a=(1 / sx).to(device), scale_b=(1 / sw).to(device),
                               out_dtype=torch.float32).cpu().double()
        error = ((got - wanted).abs().amax() / wanted.abs().amax()).item()
        worst = max(worst, error)
        # The sums of tensor cores keep fewer bits than f32 has.
        assert error < 1e-3, f"{left} times {right}: {error:.2e} of the largest element"
    return f"largest difference {worst:.1e} of the largest element"
