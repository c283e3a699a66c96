# SPDX-License-Identifier: Apache-2.0
"""Networks that look at images or volumes, or make them."""
import torch
from torch import nn
from torch.nn import functional as F
from torch_networks.family import conv_norm, dense, family


@family(1, 3, 128, 128)
class PoolFormer(nn.Module):
    """Pools that leave the padding out in place of attention, one group of norms."""

    def __init__(self):
        super().__init__()
        self.stages, ins = nn.ModuleList(), 3
        for width, kernel, stride in ((48, 7, 4), (96, 3, 2), (192, 3, 2)):
            blocks = nn.ModuleList(nn.ModuleList([nn.GroupNorm(1, width), nn.GroupNorm(1, width), nn.Conv2d(width, 4 * width, 1),
                                                  nn.Conv2d(4 * width, width, 1)]) for _ in range(2))
            self.stages.append(nn.ModuleList([nn.Conv2d(ins, width, kernel, stride, kernel // 2), blocks]))
            ins = width
        self.pool, self.head = nn.AvgPool2d(3, 1, 1, count_include_pad=False), nn.Linear(192, 100)

    def forward(self, x):
        for embed, blocks in self.stages:
            x = embed(x)
            for norm, second_norm, up, down in blocks:
                y = norm(x)
                x = x + (self.pool(y) - y)
                x = x + down(F.gelu(up(second_norm(x))))
        return self.head(x.mean((2, 3)))


@family(1, 64, 56, 56)
class WindowsAndGrid(nn.Module):
    """A squeezed inverted bottleneck, attention within windows, then along a grid (MaxViT)."""

    def __init__(self):
        super().__init__()
        self.bottleneck = nn.Sequential(nn.BatchNorm2d(64), nn.Conv2d(64, 256, 1), nn.BatchNorm2d(256), nn.GELU(),
                                        nn.Conv2d(256, 256, 3, 1, 1, groups=256), nn.BatchNorm2d(256), nn.GELU())
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(256, 16, 1), nn.SiLU(), nn.Conv2d(16, 256, 1), nn.Sigmoid())
        self.project = nn.Conv2d(256, 64, 1)
        self.attentions = nn.ModuleList(nn.ModuleList([nn.LayerNorm(64), nn.Linear(64, 192), nn.Linear(64, 64), nn.LayerNorm(64),
                                                       dense(64, 256, 64, activation=nn.GELU)]) for _ in range(2))
        self.bias = nn.Parameter(torch.randn(2, 2, 49, 49) * 0.1)

    def attend(self, which, x):
        norm, qkv, out, second_norm, mlp = self.attentions[which]
        query, key, value = qkv(norm(x)).reshape(64, 49, 3, 2, 32).permute(2, 0, 3, 1, 4)
        weights = ((query * 32**-0.5) @ key.transpose(-2, -1) + self.bias[which]).softmax(-1)
        x = x + out((weights @ value).transpose(1, 2).reshape(64, 49, 64))
        return x + mlp(second_norm(x))

    def forward(self, x):
        y = self.bottleneck(x)
        x = x + self.project(y * self.squeeze(y))
        windows = self.attend(0, x.reshape(1, 64, 8, 7, 8, 7).permute(0, 2, 4, 3, 5, 1).reshape(64, 49, 64))
        x = windows.reshape(1, 8, 8, 7, 7, 64).permute(0, 5, 1, 3, 2, 4).reshape(1, 64, 56, 56)
        grid = self.attend(1, x.reshape(1, 64, 7, 8, 7, 8).permute(0, 3, 5, 2, 4, 1).reshape(64, 49, 64))
        return grid.reshape(1, 8, 8, 7, 7, 64).permute(0, 5, 3, 1, 4, 2).reshape(1, 64, 56, 56)


@family(4, 1, 28, 28)
class SpatialTransformer(nn.Module):
    """An affine grid that a network finds, sampled for another one."""

    def __init__(self):
        super().__init__()
        self.find = nn.Sequential(nn.Conv2d(1, 8, 7), nn.MaxPool2d(2, 2), nn.ReLU(), nn.Conv2d(8, 10, 5), nn.MaxPool2d(2, 2), nn.ReLU(),
                                  nn.Flatten(), nn.Linear(90, 32), nn.ReLU(), nn.Linear(32, 6))
        self.classify = nn.Sequential(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(),
                                      nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10))
        rows, columns = torch.meshgrid(torch.linspace(-1, 1, 28), torch.linspace(-1, 1, 28), indexing="ij")
        self.register_buffer("places", torch.stack([columns, rows, torch.ones(28, 28)], -1).reshape(1, 784, 3))

    def forward(self, x):
        affine = self.find(x).view(-1, 2, 3)
        grid = (self.places @ affine.transpose(1, 2)).view(-1, 28, 28, 2)
        return F.log_softmax(self.classify(F.grid_sample(x, grid, align_corners=True)), 1)


@family(1, 1, 32, 32, 32)
class VolumeUnet(nn.Module):
    """Volumes down and up with instance norms."""

    def __init__(self):
        super().__init__()
        def block(ins, outs):
            return nn.Sequential(nn.Conv3d(ins, outs, 3, 1, 1), nn.InstanceNorm3d(outs, affine=True), nn.LeakyReLU(0.01))
        self.first, self.second, self.third = block(1, 16), block(16, 32), block(32, 64)
        self.fourth, self.fifth, self.out, self.pool = block(96, 32), block(48, 16), nn.Conv3d(16, 3, 1), nn.MaxPool3d(2)

    def forward(self, x):
        first = self.first(x)
        second = self.second(self.pool(first))
        y = F.interpolate(self.third(self.pool(second)), scale_factor=2, mode="nearest")
        y = F.interpolate(self.fourth(torch.cat([y, second], 1)), scale_factor=2, mode="nearest")
        return self.out(self.fifth(torch.cat([y, first], 1)))


@family(1, 12, 32, 32)
class InvertibleFlow(nn.Module):
    """Rotations of channels and affine couplings (Glow)."""

    def __init__(self):
        super().__init__()
        self.turns = nn.ParameterList(nn.Parameter(torch.linalg.qr(torch.randn(12, 12))[0][:, :, None, None]) for _ in range(4))
        self.couplings = nn.ModuleList(nn.Sequential(nn.Conv2d(6, 64, 3, 1, 1), nn.ReLU(), nn.Conv2d(64, 64, 1), nn.ReLU(),
                                                     nn.Conv2d(64, 12, 3, 1, 1)) for _ in range(4))

    def forward(self, x):
        volume = 0
        for turn, coupling in zip(self.turns, self.couplings):
            kept, moved = F.conv2d(x, turn).chunk(2, 1)
            both = coupling(kept)
            scale = torch.sigmoid(both[:, 1::2] + 2)
            x = torch.cat([kept, (moved + both[:, 0::2]) * scale], 1)
            volume = volume + torch.log(scale).sum((1, 2, 3))
        return x, volume


@family(4, 1, 28, 28)
class Capsules(nn.Module):
    """Small matrices for each pair of capsules, routed three times."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 64, 9), nn.Conv2d(64, 64, 9, 2)
        self.poses = nn.Parameter(torch.randn(1, 288, 10, 16, 8) * 0.1)

    @staticmethod
    def squash(x):
        size = (x**2).sum(-1, keepdim=True)
        return size / (1 + size) * x / torch.sqrt(size + 1e-8)

    def forward(self, x):
        capsules = self.squash(self.second(F.relu(self.first(x))).reshape(4, 288, 8))
        votes, agreed = (self.poses @ capsules[:, :, None, :, None]).squeeze(-1), torch.zeros(4, 288, 10)
        for _ in range(3):
            out = self.squash((agreed.softmax(2)[..., None] * votes).sum(1))
            agreed = agreed + (votes * out[:, None]).sum(-1)
        return torch.sqrt((out**2).sum(-1) + 1e-8)


@family(1, 3, 96, 96)
class ConvolutionsThenAttention(nn.Module):
    """HardSwish and Mish, a wide depthwise layer, PyTorch's own attention."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 32, 3, 2, nn.Hardswish), conv_norm(32, 64, 3, 2, nn.Hardswish))
        self.bottleneck = nn.Sequential(nn.Conv2d(64, 256, 1, bias=False), nn.BatchNorm2d(256), nn.Mish(),
                                        nn.Conv2d(256, 256, 5, 2, 2, groups=256, bias=False), nn.BatchNorm2d(256), nn.Mish(),
                                        nn.Conv2d(256, 128, 1, bias=False), nn.BatchNorm2d(128))
        self.attention, self.norm, self.head = nn.MultiheadAttention(128, 4, batch_first=True), nn.LayerNorm(128), nn.Linear(128, 10)

    def forward(self, x):
        x = self.bottleneck(self.stem(x)).flatten(2).transpose(1, 2)
        y = self.norm(x)
        return self.head((x + self.attention(y, y, y, need_weights=False)[0]).mean(1))


@family(1, 3, 128, 128)
class TwoPathSegmentation(nn.Module):
    """Details and context joined, enlarged, and the class of each pixel (BiSeNet)."""

    def __init__(self):
        super().__init__()
        self.details = nn.Sequential(conv_norm(3, 32, 7, 2), conv_norm(32, 32, 3, 2), conv_norm(32, 64, 3, 2))
        self.context = nn.Sequential(conv_norm(3, 16, 3, 2), conv_norm(16, 32, 3, 2), conv_norm(32, 64, 3, 2), conv_norm(64, 128, 3, 2))
        self.attend = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(128, 128, 1), nn.Sigmoid())
        self.join, self.out = conv_norm(192, 64, 1), nn.Conv2d(64, 19, 1)

    def forward(self, x):
        context = self.context(x)
        context = F.interpolate(context * self.attend(context), scale_factor=2, mode="bilinear", align_corners=True)
        y = self.out(self.join(torch.cat([self.details(x), context], 1)))
        return F.interpolate(y, scale_factor=8, mode="bilinear", align_corners=False).argmax(1)


@family(1, 3, 128, 128)
class PeakDetector(nn.Module):
    """Objects as local maxima of a map, the best hundred with their sizes (CenterNet)."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(conv_norm(ins, outs, kernel, 2, nn.SiLU) for ins, outs, kernel in ((3, 16, 7), (16, 32, 3), (32, 64, 3))))
        self.enlarge = nn.Sequential(nn.ConvTranspose2d(64, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU())
        self.peaks, self.sizes = nn.Conv2d(64, 20, 1), nn.Conv2d(64, 2, 1)

    def forward(self, x):
        y = self.enlarge(self.body(x))
        heat = torch.sigmoid(self.peaks(y))
        peaks = (F.max_pool2d(heat, 3, 1, 1) == heat).float() * heat
        scores, places = peaks.flatten(1).topk(100, 1)
        pixels = places % 1024
        sizes = self.sizes(y).flatten(2).gather(2, pixels[:, None].expand(-1, 2, -1))
        return scores, places // 1024, pixels // 32, pixels % 32, sizes


@family(1, 3, 112, 112)
class RegisterTransformer(nn.Module):
    """A vision transformer with registers, PyTorch's own layers."""

    def __init__(self):
        super().__init__()
        self.patches, self.tokens, self.places = nn.Conv2d(3, 192, 16, 16), nn.Parameter(torch.randn(1, 5, 192)), nn.Parameter(torch.randn(1, 49, 192))
        layer = nn.TransformerEncoderLayer(192, 3, 768, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder, self.scale = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Parameter(torch.rand(192))
        self.head = nn.Linear(384, 100)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        x = self.encoder(torch.cat([self.tokens.expand(x.shape[0], -1, -1), x], 1)) * self.scale
        return self.head(torch.cat([x[:, 0], x[:, 5:].mean(1)], -1))


@family(1, 3, 64, 64)
class PixelShuffler(nn.Module):
    """Residual blocks and a shuffle to twice the size (EDSR)."""

    def __init__(self):
        super().__init__()
        self.head, self.up = nn.Conv2d(3, 32, 3, 1, 1), nn.Sequential(nn.Conv2d(32, 128, 3, 1, 1), nn.PixelShuffle(2), nn.Conv2d(32, 3, 3, 1, 1))
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 1, 1)) for _ in range(4))

    def forward(self, x):
        first = y = self.head((x - 0.45) * 255 / 127)
        for block in self.blocks:
            y = y + block(y) * 0.1
        return (self.up(y + first) + 0.45).clamp(0, 1)
