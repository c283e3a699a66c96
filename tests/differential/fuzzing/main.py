# SPDX-License-Identifier: Apache-2.0
"""Random graphs, run by everything that octet and ONNX Runtime make of them (docs/differential.md)."""
import argparse
import collections
import os
import pathlib
import sys
import time

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fuzzing.drawn import Drawn, drawn_in  # noqa: E402
from fuzzing.free.coded import generate as draw_coded  # noqa: E402
from fuzzing.free.draw import generate as draw_free  # noqa: E402
from fuzzing.generate import Skipped, generate  # noqa: E402
from fuzzing.halves import generate as draw_halves  # noqa: E402
from fuzzing.reduce import Reducer, describe, signature  # noqa: E402
from fuzzing.runner import Runner  # noqa: E402
from fuzzing.verdict import Finding, Verdict, judge  # noqa: E402
from fuzzing.workers import Lost, Workers  # noqa: E402

REDUCTION = 20  # times as long as one graph, at most
KINDS = {"plain": generate, "free": draw_free, "halves": draw_halves, "coded": draw_coded}
runner = None  # of a worker process


def start_worker(seconds):
    global runner
    runner = Runner(seconds=seconds)


def judge_seed(task):
    """(what is in the graph, verdict or the reason why it was skipped, seconds)."""
    seed, kind = task
    start = time.monotonic()
    try:
        case = KINDS[kind](seed)
    except Skipped as reason:
        return Drawn(), str(reason), time.monotonic() - start
    return drawn_in(case.model), judge(case, runner), time.monotonic() - start


def without_end(lost):
    """octet runs in a process of its own, whose death or silence the runner tells: what is lost here was lost in ONNX Runtime or while drawing."""
    if "no end" in str(lost) or "raised" in str(lost):
        return Drawn(), Verdict([Finding("no end" if "no end" in str(lost) else "no judgement", str(lost))]), lost.seconds
    return Drawn(), f"ONNX Runtime ends the process: {lost}", lost.seconds


def reduce_seed(task):
    seed, wanted, kind = task
    case = Reducer(KINDS[kind](seed), wanted, runner).reduce()
    texts = [str(f) for f in judge(case, runner).findings if signature(f) == wanted]
    return case, texts


class Tally:
    def __init__(self, kind="plain"):
        self.kind = kind
        self.graphs = self.nodes = self.run = self.with_findings = 0
        self.wide = self.sharp = 0.0  # sums over the graphs that were run
        self.drawn = collections.Counter()  # graphs that hold each of what is counted
        self.skipped = collections.Counter()
        self.refused = collections.Counter()
        self.seeds = collections.defaultdict(list)  # signature: [(nodes, seed)]
        self.examples = {}
        self.slowest = []  # (seconds, seed)

    def add(self, seed, drawn, verdict, seconds):
        self.graphs += 1
        self.slowest = sorted([*self.slowest, (seconds, seed)], reverse=True)[:3]
        if isinstance(verdict, str):
            self.skipped[verdict.split(":")[0][:60]] += 1
            return
        if verdict.unstable:
            self.skipped[f"rounding alone changes {verdict.unstable}"] += 1
            return
        nodes = drawn.nodes
        self.nodes += nodes
        self.drawn.update(drawn.features)
        self.run += 1
        self.wide += verdict.wide
        self.sharp += verdict.sharp
        self.with_findings += bool(verdict.findings)
        if verdict.refused:
            self.refused[verdict.refused[:90]] += 1
        for finding in verdict.findings:
            key = signature(finding)
            self.seeds[key].append((nodes, seed))
            if key not in self.examples or (nodes, seed) == min(self.seeds[key]):
                self.examples[key] = str(finding)

    def report(self):
        run = max(self.run, 1)
        lines = [f"{self.run} graphs of {self.nodes / run:.0f} nodes, {self.with_findings} with findings"]
        if self.kind in ("plain", "halves"):
            lines.append(
                 f"on average {100 * self.sharp / run:.1f} % of a graph's codes have no leeway, and {100 * self.wide / run:.1f} % of its "
                 "numbers have bounds wider than 2 % of the largest one")
        if self.kind in ("halves", "coded"):
            lines.append("graphs that hold " + ", ".join(f"{name}: {count}" for name, count in self.drawn.most_common()))
        lines += [f"{sum(self.skipped.values())} not run: {dict(self.skipped.most_common(4))}",
                 f"{sum(self.refused.values())} refused by ONNX Runtime, where only octet's own were compared: "
                 f"{dict(self.refused.most_common(4))}",
                 "slowest: " + ", ".join(f"seed {seed} ({seconds:.1f} s)" for seconds, seed in self.slowest)]
        for key, seeds in sorted(self.seeds.items(), key=lambda item: -len(item[1])):
            lines.append(f"{len(seeds)} x {self.examples[key]}\n    smallest first: seeds "
                         + ", ".join(str(seed) for _, seed in sorted(seeds)[:6]))
        return "\n".join(lines)


def progress(done, total, start, tally, last):
    spent = time.monotonic() - start
    if spent - last < 5:
        return last
    left = spent / max(done, 1) * (total - done)
    print(f"  {done} of {total} graphs, {len(tally.seeds)} kinds of findings, {60 * done / spent:.0f} a minute, "
          f"{left:.0f} s left", file=sys.stderr, flush=True)
    return spent


def save(folder, number, seed, case, texts):
    place = folder / str(number)
    place.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, place / "model.onnx")
    for i, inputs in enumerate(case.sets):
        np.savez(place / f"inputs{i}.npz", **inputs)
    words = "\n".join([f"seed {seed}", *texts, "", describe(case), ""])
    (place / "README").write_text(words)
    return words


def search(options):
    """The tally of all graphs, with reduced cases saved."""
    tally = Tally(options.kind)
    seeds = options.seeds or range(options.seed, options.seed + options.graphs)
    start, last = time.monotonic(), 0
    with Workers(options.jobs, start_worker, (options.seconds,)) as workers:
        # The runner gives up first, and then says that octet does not answer.
        for (seed, _), result in workers.map(judge_seed, [(seed, options.kind) for seed in seeds], 2 * options.seconds):
            tally.add(seed, *(without_end(result) if isinstance(result, Lost) else result))
            last = progress(tally.graphs, len(seeds), start, tally, last)
        if options.out:
            reduce_all(options, tally, workers)
    return tally


def reduce_all(options, tally, workers):
    """The smallest case of each kind; those that come out with the same operators are one."""
    tasks = [(seed, key, options.kind) for key, seeds in tally.seeds.items()
             for _, seed in sorted(seeds)[:2 if "refused" in key[0] else options.each]]
    seen = set()
    for (seed, wanted, _), result in workers.map(reduce_seed, tasks, REDUCTION * options.seconds):
        if isinstance(result, Lost):
            print(f"seed {seed} is not reduced: {result}", flush=True)
            continue
        case, texts = result
        operators = wanted, tuple(sorted(n.op_type for n in case.model.graph.node))
        if operators in seen:
            continue
        seen.add(operators)
        print(save(options.out, len(seen), seed, case, texts), flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/differential", description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others count on from it")
    parser.add_argument("--seeds", type=int, nargs="+", help="these graphs only")
    kinds = parser.add_mutually_exclusive_group()
    for kind, words in (("free", "graphs of any operators and types, against ONNX Runtime alone"), ("halves", "Q/DQ graphs in f16 and bf16"),
                        ("coded", "operators on codes, dynamic and of QONNX too, beside each other")):
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, default="plain", help=words)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one for each core)")
    parser.add_argument("--out", type=pathlib.Path, help="folder for reduced models; without it none is reduced")
    parser.add_argument("--each", type=int, default=8, help="how many of each kind are reduced (8; of refusals 2)")
    parser.add_argument("--seconds", type=float, default=60, help="for octet's answer to one graph, and for the rest, after which it counts as hung (60)")
    return parser.parse_args(arguments)


def main():
    tally = search(parse(sys.argv[1:]))
    print(tally.report())
    return 1 if tally.seeds else 0


if __name__ == "__main__":
    sys.exit(main())
