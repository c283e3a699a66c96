# SPDX-License-Identifier: Apache-2.0
"""Intervals and tests of how many of the same examples two models get right."""
import math

Z = 1.959963984540054  # of 95 %


def wilson(right, count):
    """The interval of a share (Wilson, 1927)."""
    share, z2 = right / count, Z * Z
    middle, half = share + z2 / (2 * count), Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return (middle - half) / (1 + z2 / count), (middle + half) / (1 + z2 / count)


def compare(here, there):
    """Of two byte strings, 1 where an example is right: the difference here - there, its interval (Agresti and Min, 2005:
    half an example more in each of the four cells) and the exact two-sided p of McNemar's test."""
    count = len(here)
    won = sum(a > b for a, b in zip(here, there))
    lost = sum(a < b for a, b in zip(here, there))
    n, b, c = count + 2, won + 0.5, lost + 0.5
    middle, error = (b - c) / n, math.sqrt(b + c - (b - c) ** 2 / n) / n
    flips = won + lost
    tail = sum(math.exp(math.lgamma(flips + 1) - math.lgamma(k + 1) - math.lgamma(flips - k + 1) - flips * math.log(2))
               for k in range(min(won, lost) + 1))
    return {"difference": (won - lost) / count, "low": middle - Z * error, "high": middle + Z * error, "won": won, "lost": lost,
            "p": min(1.0, 2 * tail)}
