# SPDX-License-Identifier: Apache-2.0
"""The list of networks, and layers that several of them have."""
from torch import nn

FAMILIES = {}


def family(*shape, numbers=None):
    """A network of one input of this shape: floats, or whole numbers below `numbers`."""
    def add(network):
        FAMILIES[network.__name__.lower()] = network, shape, numbers
        return network
    return add


def conv_norm(ins, outs, kernel=3, stride=1, activation=nn.ReLU):
    return nn.Sequential(nn.Conv2d(ins, outs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outs), activation())


def dense(*sizes, activation=nn.ReLU):
    """Linear layers with an activation between."""
    layers = []
    for ins, outs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(ins, outs), activation()]
    return nn.Sequential(*layers[:-1])
