# SPDX-License-Identifier: Apache-2.0
"""What tests of commands find wrong on random graphs, by kind: the same texts but for names and numbers."""
import collections
import re


def kind_of(text):
    return "".join(c for c in re.sub(r'"[^"]*"', "", text)[:90] if not c.isdigit())


class Faults:
    def __init__(self):
        self.kinds = collections.defaultdict(list)  # kind: [(seed, words of the command, fault)]

    def __bool__(self):
        return bool(self.kinds)

    def add(self, seed, faults, words=()):
        for fault in faults:
            self.kinds[kind_of(fault)].append((seed, words, fault))

    def print(self):
        """Each kind by its first fault, the most frequent one first."""
        for found in sorted(self.kinds.values(), key=len, reverse=True):
            seed, words, fault = found[0]
            command = "".join(f" {word}" for word in words)
            print(f"{len(found)} x seed {seed}{',' if command else ''}{command}\n    {fault}\n    seeds {[f[0] for f in found[:6]]}")
