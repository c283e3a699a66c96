# SPDX-License-Identifier: Apache-2.0
"""The octet command on random graphs: calls of it, and the search over seeds that tests of commands share."""
import collections
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx

from . import seeds as searched
from .faults import Faults, kind_of
from .generate import Skipped
from .workers import Lost, Workers

SECONDS = 120
OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"


def octet(*words, isa="", where=None):
    environment = {**os.environ, **({"OCTET_ISA": isa} if isa else {})}
    return subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=SECONDS, env=environment,
                          cwd=where, check=False)


def wrong(what, done, statuses=(0,)):
    """A fault where the command ended otherwise, or said no without a word."""
    if done.returncode not in statuses:
        return [f"{what}: exit {done.returncode}: {(done.stderr or done.stdout)[-400:]}"]
    if done.returncode == 2 and not done.stderr.strip():
        return [f"{what}: exit 2 without a word"]
    return []


def arrays_of(path):
    with np.load(path, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


def differing(one, other):
    """The name of an array that is not the same in both, bit for bit, or nothing."""
    if set(one) != set(other):
        return f"arrays {sorted(set(one) ^ set(other))}"
    for name, array in one.items():
        if array.dtype != other[name].dtype or array.shape != other[name].shape or array.tobytes() != other[name].tobytes():
            return f'array "{name}" {array.shape} {array.dtype} beside {other[name].shape} {other[name].dtype}'
    return ""


def without_history(path):
    """The file but for what made it."""
    model = onnx.load(path)
    for entry in [p for p in model.metadata_props if p.key == "octet.history"]:
        model.metadata_props.remove(entry)
    return model.SerializeToString(deterministic=True)


class Trial:
    """What came of one graph: what was tried, and what is wrong."""

    def __init__(self, seed, folder):
        self.random = np.random.default_rng([seed, 43])
        self.seed, self.folder = seed, folder
        self.tried, self.faults = collections.Counter(), []

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, *options):
        return options[self.random.integers(len(options))]

    def threads(self):
        return ["--threads", self.choose(1, 2, 3, 5)]

    def check(self, what, holds, text=""):
        if not holds:
            self.faults.append(f"{what}: {text}" if text else what)

    def done(self, what, done, statuses=(0,)):
        """Whether the command ended with the first of them."""
        self.faults += [fault.replace(f"{self.folder}/", "") for fault in wrong(what, done, statuses)]
        return done.returncode == statuses[0]


def try_seed(task):
    """(outcome, what was tried, faults)."""
    seed, keep, judge = task
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(keep or name)
        folder.mkdir(parents=True, exist_ok=True)
        trial = Trial(seed, folder)
        try:
            judge(trial)
        except Skipped as reason:
            return f"skipped: {str(reason)[:40]}", {}, []
        except subprocess.TimeoutExpired as late:
            return "no end", {}, [f"no end: {late.cmd[1]}"]
        return "run", trial.tried, trial.faults


def search(description, judge, graphs, start, least):
    """Judges seeds and reports; the exit code. `start` is called in each process. `least`: {what: share of the graphs that it is to be tried on}."""
    parser = searched.parser(description, graphs)
    options = parser.parse_args()
    seeds = searched.of(options)
    tasks = [(seed, str(options.out / str(seed)) if options.out else "", judge) for seed in seeds]
    outcomes, tried, found = collections.Counter(), collections.Counter(), Faults()
    with Workers(options.jobs, start) as workers:
        for (seed, _, _), result in workers.map(try_seed, tasks, 8 * SECONDS):
            outcome, what, faults = ("lost", {}, [str(result)]) if isinstance(result, Lost) else result
            outcomes[outcome.split(":")[0]] += 1
            tried.update(what)
            found.add(seed, faults)
    print(f"{sum(outcomes.values())} graphs: {dict(outcomes)}")
    for what, count in sorted(tried.items()):
        print(f"  {count} x {kind_of(what)}")
    found.print()
    few = [f"{what}: {tried[what]}" for what, share in least.items() if tried[what] < share * len(seeds)] if not options.seeds else []
    if few:
        print(f"too little was tried to say anything: {', '.join(few)}")
    return 1 if found or few else 0
