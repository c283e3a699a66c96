# SPDX-License-Identifier: Apache-2.0
"""Networks of texts, sound and other sequences."""
import torch
from torch import nn
from torch.nn import functional as F
from torch_networks.family import dense, family


@family(1, 128, 256)
class GatedMlp(nn.Module):
    """Gates across positions in place of attention (Liu et al. 2021)."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.ModuleList([nn.LayerNorm(256), nn.Linear(256, 1024), nn.LayerNorm(512), nn.Conv1d(128, 128, 1),
                                                   nn.Linear(512, 256)]) for _ in range(4))

    def forward(self, x):
        for norm, up, gate_norm, positions, down in self.blocks:
            value, gate = F.gelu(up(norm(x))).chunk(2, -1)
            x = x + down(value * positions(gate_norm(gate)))
        return x


@family(1, 25, 400)
class TemporalConvolutions(nn.Module):
    """Causal convolutions of growing dilation with shortcuts (Bai et al. 2018)."""

    def __init__(self):
        super().__init__()
        self.blocks, ins = nn.ModuleList(), 25
        for depth in range(6):
            self.blocks.append(nn.ModuleList([nn.Conv1d(ins, 64, 3, dilation=2**depth), nn.Conv1d(64, 64, 3, dilation=2**depth),
                                              nn.Conv1d(ins, 64, 1)]))
            ins = 64
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        for depth, (first, second, shortcut) in enumerate(self.blocks):
            pad = (2 * 2**depth, 0)
            y = F.relu(second(F.pad(F.relu(first(F.pad(x, pad))), pad)))
            x = F.relu(y + shortcut(x))
        return self.head(x[:, :, -1])


@family(1, 64, 256)
class LinearRecurrence(nn.Module):
    """Tokens mixed with the one before and a decaying sum, step by step (RWKV)."""

    def __init__(self):
        super().__init__()
        self.norm, self.second_norm = nn.LayerNorm(256), nn.LayerNorm(256)
        self.key, self.value, self.receive, self.out = (nn.Linear(256, 256, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(256, 1024, bias=False), nn.Linear(1024, 256, bias=False)
        self.decay, self.bonus, self.mix = (nn.Parameter(torch.rand(*shape)) for shape in ((256,), (256,), (3, 256)))

    def forward(self, x):
        y = self.norm(x)
        before = F.pad(y, (0, 0, 1, -1))
        key, value, receive = (layer(y * mix + before * (1 - mix)) for layer, mix in zip((self.key, self.value, self.receive), self.mix))
        decay, above, below, out = torch.exp(-torch.exp(self.decay)), torch.zeros(1, 256), torch.zeros(1, 256), []
        for step in range(64):
            now, weight = torch.exp(self.bonus + key[:, step]), torch.exp(key[:, step])
            out.append((above + now * value[:, step]) / (below + now))
            above, below = decay * above + weight * value[:, step], decay * below + weight
        x = x + self.out(torch.sigmoid(receive) * torch.stack(out, 1))
        return x + self.down(torch.square(F.relu(self.up(self.second_norm(x)))))


@family(1, 128, 256)
class Retention(nn.Module):
    """Attention without softmax, under a decaying mask, with a group norm of the heads (RetNet)."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.gate = (nn.Linear(256, width) for width in (256, 256, 512, 512))
        self.out, self.norm, self.head_norm = nn.Linear(512, 256), nn.LayerNorm(256), nn.GroupNorm(4, 512)
        distance = (torch.arange(128)[:, None] - torch.arange(128)).float()
        rates = (1 - 2.0 ** (-5 - torch.arange(4).float()))[:, None, None]
        self.register_buffer("mask", torch.where(distance >= 0, rates ** distance.clamp(min=0), torch.zeros(())))

    def forward(self, x):
        y = self.norm(x)
        query, key, value = (layer(y).reshape(1, 128, 4, -1).transpose(1, 2) for layer in (self.query, self.key, self.value))
        context = ((query @ (key * 64**-0.5).transpose(-1, -2)) * self.mask @ value).transpose(1, 2).reshape(128, 512)
        return x + self.out(F.silu(self.gate(y)) * self.head_norm(context).reshape(1, 128, 512))


@family(1, 256, 256)
class RandomFeatures(nn.Module):
    """Attention by random features, linear in the length (Performer)."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(256, 768), nn.Linear(256, 256), nn.LayerNorm(256)
        self.mlp = nn.Sequential(nn.LayerNorm(256), *dense(256, 1024, 256, activation=nn.GELU))
        self.register_buffer("directions", torch.randn(64, 128))

    def features(self, x):
        return torch.exp(x @ self.directions * 0.1 - (x**2).sum(-1, keepdim=True) / 200) + 1e-4

    def forward(self, x):
        query, key, value = self.qkv(self.norm(x)).reshape(1, 256, 3, 4, 64).permute(2, 0, 3, 1, 4)
        query, key = self.features(query), self.features(key)
        context = (query @ (key.transpose(-1, -2) @ value)) / (query @ key.sum(-2).unsqueeze(-1))
        x = x + self.out(context.transpose(1, 2).reshape(1, 256, 256))
        return x + self.mlp(x)


@family(1, 256, 128)
class SlidingWindows(nn.Module):
    """Each chunk attends to itself and its neighbours (Longformer)."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)

    def forward(self, x):
        query, key, value = self.qkv(x).reshape(1, 256, 3, 2, 64).permute(2, 0, 3, 1, 4)
        keys, values = (torch.stack([F.pad(part, (0, 0, 32, 32))[:, :, 32 * i:32 * i + 96] for i in range(8)], 2) for part in (key, value))
        context = (query.reshape(1, 2, 8, 32, 64) @ keys.transpose(-1, -2) * 0.125).softmax(-1) @ values
        return x + self.out(context.reshape(1, 2, 256, 64).transpose(1, 2).reshape(1, 256, 128))


@family(1, 8, 3, 32, 32)
class ConvLstm(nn.Module):
    """An LSTM whose products are convolutions, eight images."""

    def __init__(self):
        super().__init__()
        self.gates, self.out = nn.Conv2d(35, 128, 3, 1, 1), nn.Conv2d(32, 3, 1)

    def forward(self, x):
        state = cell = torch.zeros(1, 32, 32, 32)
        for step in range(8):
            taken, kept, shown, new = self.gates(torch.cat([x[:, step], state], 1)).chunk(4, 1)
            cell = torch.sigmoid(kept) * cell + torch.sigmoid(taken) * torch.tanh(new)
            state = torch.sigmoid(shown) * torch.tanh(cell)
        return self.out(state)


@family(1, 512, 64)
class LatentAttention(nn.Module):
    """A few learned queries read a long input (Perceiver)."""

    def __init__(self):
        super().__init__()
        self.latents, self.both, self.query = nn.Parameter(torch.randn(1, 64, 128)), nn.Linear(64, 256), nn.Linear(128, 128)
        self.layer = nn.TransformerEncoderLayer(128, 4, 256, 0.0, "gelu", batch_first=True, norm_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        key, value = self.both(x).chunk(2, -1)
        weights = (self.query(self.latents) @ key.transpose(1, 2) * 128**-0.5).softmax(-1)
        return self.head(self.layer(self.latents + weights @ value).mean(1))


@family(1, 64, 512)
class LongConvolution(nn.Module):
    """Gated depthwise convolutions as long as the input (Hyena)."""

    def __init__(self):
        super().__init__()
        self.take, self.short = nn.Conv1d(64, 192, 1), nn.Conv1d(192, 192, 3, padding=2, groups=192)
        self.long, self.out = nn.Conv1d(64, 64, 512, padding=511, groups=64, bias=False), nn.Conv1d(64, 64, 1)

    def forward(self, x):
        first, second, value = self.short(self.take(x))[..., :512].chunk(3, 1)
        return x + self.out(first * self.long(second * value)[..., :512])


@family(1, 80, 200)
class SpectrumPostnet(nn.Module):
    """Convolutions and a GRU that turn mel bands into a spectrum (Tacotron)."""

    def __init__(self):
        super().__init__()
        sizes = (80, 256, 256, 256, 80)
        self.convs = nn.ModuleList(nn.Sequential(nn.Conv1d(*pair, 5, padding=2), nn.BatchNorm1d(pair[1])) for pair in zip(sizes, sizes[1:]))
        self.recur, self.head = nn.GRU(80, 128, bidirectional=True, batch_first=True), nn.Linear(256, 513)

    def forward(self, x):
        y = x
        for i, conv in enumerate(self.convs):
            y = torch.tanh(conv(y)) if i < 3 else conv(y)
        return self.head(self.recur((x + y).transpose(1, 2))[0])


@family(1, 40, 200)
class SpeakerEmbedding(nn.Module):
    """Dilated convolutions with norms behind the ReLUs, attentive mean and deviation (x-vectors)."""

    def __init__(self):
        super().__init__()
        layers = []
        for ins, outs, kernel, dilation in ((40, 256, 5, 1), (256, 256, 3, 2), (256, 256, 3, 3), (256, 512, 1, 1)):
            layers += [nn.Conv1d(ins, outs, kernel, dilation=dilation), nn.ReLU(), nn.BatchNorm1d(outs)]
        self.body = nn.Sequential(*layers)
        self.attend, self.out = nn.Sequential(nn.Conv1d(512, 64, 1), nn.Tanh(), nn.Conv1d(64, 512, 1)), nn.Linear(1024, 192)

    def forward(self, x):
        y = self.body(x)
        weights = self.attend(y).softmax(2)
        mean = (weights * y).sum(2)
        deviation = torch.sqrt(((weights * y**2).sum(2) - mean**2).clamp(min=1e-5))
        return F.normalize(self.out(torch.cat([mean, deviation], 1)), dim=1)
