# SPDX-License-Identifier: Apache-2.0
"""The arguments that every search over seeds has."""
import argparse
import pathlib


def parser(description, graphs):
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--graphs", type=int, default=graphs, help="how many" + (f" ({graphs})" if graphs else "; without it what CI runs: plain and free ones"))
    made.add_argument("--seed", type=int, default=1, help="of the first; the others count on from it")
    made.add_argument("--seeds", type=int, nargs="+", help="these graphs only")
    made.add_argument("--jobs", type=int, default=2)
    made.add_argument("--out", type=pathlib.Path, help="keeps models, inputs and what is written here")
    return made


def of(options):
    return options.seeds or range(options.seed, options.seed + options.graphs)
