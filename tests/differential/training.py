# SPDX-License-Identifier: Apache-2.0
"""Random graphs through the torch executor (docs/differential.md): its outputs lie in the bounds of the reference's, its values in double
are the reference's, and its gradients are what differences of the reference give."""
import collections
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import numpy as np
import onnx
from fuzzing import seeds as searched
from fuzzing.faults import Faults
from fuzzing.free.draw import generate as draw_free
from fuzzing.generate import Skipped, generate, generate_float
from fuzzing.runner import Died, Runner
from fuzzing.verdict import MORE_RUNS, RUNS, Judge, Unstable
from fuzzing.workers import Lost, Workers

GRAPHS = 150
FREE = 200
# Seeds that found something, beside those that are counted from 1.
FOUND = (1114, 1295, 2364, 3220)
FOUND_FREE = (653, 2480, 4407, 4639, 4845, 5226, 5289, 5663, 36965, 60959)
SECONDS = 60
# What the torch executor says that it does not run, though the reference does.
KNOWN_REFUSALS = ("LibTorch has no element type for",)
OURS = ("torch", "refused: torch")
ONE_SUM = 2.0**-20  # of a value: a bias is the first term of a product's sum, and rounded with each of them
runner = None  # of a worker process


def start_worker():
    global runner
    build = pathlib.Path(os.environ["OCTET_BUILD_DIR"])
    runner = Runner(os.environ.get("OCTET_TRAIN_DIFFERENTIAL") or build / "bin" / "octet_train_differential", SECONDS)


def draw(seed, free):
    """One plain graph in three has Q/DQ."""
    if free:
        return draw_free(seed)
    return generate(seed) if seed % 3 == 1 else generate_float(seed)


class TorchJudge(Judge):
    """Of what the reference and the torch executor give."""

    def compare(self, what, outputs):
        if what not in ("reference", "torch"):
            return
        exact = self.outputs
        if what == "torch":
            values = exact["value float"]
            errors = {place: error + ONE_SUM * np.abs(np.nan_to_num(values[place], posinf=0, neginf=0)) if values[place].dtype.kind == "f" else error
                      for place, error in exact.get("error float", {}).items()}
            self.outputs = {**exact, "error float": errors}
        super().compare(what, outputs)
        self.outputs = exact


def of_infinity(case, text):
    """LibTorch's Gelu of infinity is NaN in some of its kernels (docs/differential.md)."""
    return "nan, expected inf" in text and any("Gelu" in n.op_type for n in case.model.graph.node)


def values(case, answers, runs):
    """What is out of bounds in the outputs, or refused; where ONNX Runtime shows no bounds, nothing."""
    judged = TorchJudge(case, answers, runs).judge()
    return [str(f) for f in judged.findings if f.kind in OURS and not any(words in f.text for words in KNOWN_REFUSALS)
            and not of_infinity(case, f.text)]


def judge_seed(task):
    """(what became of it, counts of the runner, faults)."""
    seed, free, out = task
    try:
        case = draw(seed, free)
    except Skipped as reason:
        return f"skipped: {str(reason)[:40]}", {}, []
    try:
        answers = runner.ask(case)
    except Died as death:
        return "run", {}, [f"the runner died: {death}"]
    faults, outcome = list(answers["findings"]), "run"
    try:
        found = values(case, dict(answers, outputs=dict(answers["outputs"])), RUNS)
        faults += values(case, answers, MORE_RUNS) if found and free else found
    except Unstable:
        outcome = "without bounds"
    if faults and out:
        keep(pathlib.Path(out) / str(seed), case, faults)
    return outcome, answers["counts"], faults


def keep(folder, case, faults):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / "model.onnx")
    for i, inputs in enumerate(case.sets):
        np.savez(folder / f"inputs{i}.npz", **inputs)
    (folder / "README").write_text("\n".join([f"seed {case.seed}", *faults, ""]))


class Tally:
    def __init__(self):
        self.outcomes, self.counts, self.found = collections.Counter(), collections.Counter(), Faults()

    def search(self, seeds, free, jobs, out=None):
        tasks = [(seed, free, str(out or "")) for seed in seeds]
        with Workers(jobs, start_worker) as workers:
            for (seed, *_), result in workers.map(judge_seed, tasks, 4 * SECONDS):
                outcome, counts, faults = ("lost", {}, []) if isinstance(result, Lost) else result
                if isinstance(result, Lost) and "ended" not in str(result):
                    faults = [str(result)]
                self.outcomes[outcome.split(":")[0]] += 1
                self.counts.update(counts)
                self.found.add(seed, faults)
        return self

    def told_little(self, graphs, free):
        few = self.outcomes["run"] < 0.9 * graphs or self.counts["gradients tried"] < (0.3 if free else 0.5) * graphs
        return few or self.counts["elements tried"] < 10 * self.counts["elements at kinks"]

    def report(self):
        print(f"{sum(self.outcomes.values())} graphs: {dict(self.outcomes)}")
        for text, count in self.counts.most_common():
            print(f"  {count} x {text}")
        self.found.print()


def main():
    parser = searched.parser(__doc__, None)
    parser.add_argument("--free", action="store_true", help="graphs of any operators and types")
    options = parser.parse_args()
    if options.graphs or options.seeds:
        runs = [(options.free, searched.of(options))]
    else:
        runs = [(False, [*range(1, GRAPHS + 1), *FOUND]), (True, [*range(1, FREE + 1), *FOUND_FREE])]
    failed = False
    for free, seeds in runs:
        tally = Tally().search(seeds, free, options.jobs, options.out)
        tally.report()
        failed |= bool(tally.found)
        if not options.seeds and tally.told_little(len(seeds), free):
            print("too few graphs were run to say anything")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
