# SPDX-License-Identifier: Apache-2.0
"""Networks of coordinates, tables and series."""
import torch
from torch import nn
from torch.nn import functional as F
from torch_networks.family import dense, family


@family(1024, 2)
class Siren(nn.Module):
    """Coordinates to colours through sines (Sitzmann et al. 2020)."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(ins, outs) for ins, outs in ((2, 256), (256, 256), (256, 256), (256, 256), (256, 3)))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.sin(30 * layer(x))
        return self.layers[-1](x)


@family(1024, 3)
class RadianceField(nn.Module):
    """Positions as sines and cosines of many rates, a skip in the middle."""

    def __init__(self):
        super().__init__()
        self.first, self.second = dense(63, 256, 256, 256, 256), dense(256 + 63, 256, 4)

    def forward(self, x):
        angles = (x[..., None] * 2.0 ** torch.arange(10, dtype=torch.float32)).flatten(-2)
        told = torch.cat([x, torch.sin(angles), torch.cos(angles)], -1)
        y = self.second(torch.cat([F.relu(self.first(told)), told], -1))
        return torch.cat([torch.sigmoid(y[:, :3]), F.softplus(y[:, 3:])], -1)


@family(32, 96)
class BasisExpansion(nn.Module):
    """Forecasts of blocks that each explain a part of the past (N-BEATS)."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.ModuleList([dense(96, 256, 256, 256), nn.Linear(256, 96), nn.Linear(256, 24)]) for _ in range(6))

    def forward(self, x):
        forecast = 0
        for stack, back, ahead in self.blocks:
            y = F.relu(stack(x))
            x, forecast = x - back(y), forecast + ahead(y)
        return forecast


@family(64, 32)
class VariableSelection(nn.Module):
    """Numbers of a table weighed by a gated network (temporal fusion)."""

    def __init__(self):
        super().__init__()
        self.embeds = nn.ModuleList(nn.Linear(1, 32) for _ in range(8))
        self.choose = nn.Sequential(*dense(256, 64, 64, activation=nn.ELU), nn.Linear(64, 16), nn.GLU(), nn.LayerNorm(8), nn.Softmax(-1))
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ELU(), nn.BatchNorm1d(64), nn.GLU(), nn.Linear(32, 1))

    def forward(self, x):
        values = torch.stack([embed(x[:, i:i + 1]) for i, embed in enumerate(self.embeds)], 1)
        return self.head((values * self.choose(values.flatten(1))[..., None]).sum(1))


@family(128, 26, numbers=1000)
class FactorizationMachine(nn.Module):
    """Products of all pairs of embeddings beside a deep network."""

    def __init__(self):
        super().__init__()
        self.embed, self.weigh = nn.Embedding(1000, 16), nn.Embedding(1000, 1)
        self.deep = nn.Sequential(nn.Linear(416, 256), nn.ReLU(), nn.Linear(256, 64), nn.PReLU(), nn.Linear(64, 1))

    def forward(self, x):
        values = self.embed(x)
        pairs = 0.5 * (values.sum(1) ** 2 - (values**2).sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.weigh(x).sum(1) + pairs + self.deep(values.flatten(1)))


@family(256, 16)
class RadialBases(nn.Module):
    """Sums of learned functions of each input (Kolmogorov-Arnold, with Gaussian bases)."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.norms = nn.Linear(128, 64), nn.Linear(512, 10), nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(64)])
        self.register_buffer("centres", torch.linspace(-2, 2, 8))

    def bases(self, x):
        return torch.exp(-(((x[..., None] - self.centres) / 0.57) ** 2)).flatten(-2)

    def forward(self, x):
        return self.second(self.bases(self.norms[1](self.first(self.bases(self.norms[0](x))))))
