# SPDX-License-Identifier: Apache-2.0
"""Random float graphs through `octet train` and `octet qat` with random options (docs/differential.md): a file or a reason, the same in
every executor and ONNX Runtime, losses and scores as NumPy has them, the same bytes again and behind an interruption, steps downhill."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import numpy as np
import onnx
import training
from fuzzing import lesson as lessons
from fuzzing import recipe as recipes
from fuzzing import seeds as searched
from fuzzing.faults import Faults, kind_of
from fuzzing.generate import Case, Skipped
from fuzzing.lesson import BINARY, CLASSES, NUMBERS
from fuzzing.runner import Died, Runner
from fuzzing.verdict import RUNS, Unstable, judge
from fuzzing.workers import Lost, Workers
from onnx import numpy_helper

GRAPHS = 60
SECONDS = 60
# What is wrong with a model or its data is said before it is trained.
WHILE_TRAINING = ("train: step", "train: validation", "train: loss", "train: gradients")
KNOWN = ("no parameter reaches the loss",)
OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
runner = None  # of a worker process


def start_worker():
    global runner
    runner = Runner(seconds=SECONDS)
    training.start_worker()


def octet(*words):
    return subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=SECONDS)


def constants(path):
    """{name: array} of a file, Constant nodes included."""
    graph = onnx.load(path).graph
    found = {t.name: t for t in graph.initializer}
    for n in graph.node:
        if n.op_type == "Constant":
            found.update({n.output[0]: a.t for a in n.attribute if a.name == "value"})
    return {name: numpy_helper.to_array(t) for name, t in found.items()}


def told_by_checker(path):
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        return str(error)[:300]
    return ""


class Trial:
    """One lesson, by one recipe, in a folder."""

    def __init__(self, lesson, recipe, folder):
        self.lesson, self.recipe, self.folder = lesson, recipe, folder
        self.s = lesson.sketch
        self.faults, self.done = [], collections.Counter()
        self.source, self.written = folder / "float.onnx", folder / "trained.onnx"
        self.data = f"npz:{folder / 'data.npz'}"
        onnx.save(lesson.model, self.source)
        step = lesson.batch or 1
        self.train = lesson.examples(step * -(-self.s.choose(6, 12, 17) // step))
        self.test = lesson.examples(step * -(-8 // step))
        if lesson.loss == CLASSES:  # test labels that no training example has are refused
            self.test["y"] = self.s.random.choice(self.train["y"], len(self.test["y"]))
        np.savez(folder / "data.npz", **{f"{name}_train": a for name, a in self.train.items()}, **{f"{name}_test": a for name, a in self.test.items()})

    def find(self, text):
        self.faults.append(text)

    def octet_train(self, output, *more, data=None):
        return octet(*self.recipe.call(self.source, data or self.data, "--threads", 1, "-o", output, *more))

    def run(self):
        done = self.octet_train(self.written)
        if done.returncode not in (0, 1, 2) or (done.returncode and not done.stderr.strip()):
            self.find(f"exit {done.returncode}: {done.stderr[-300:]}")
            return "failed"
        told = done.stderr.strip().splitlines()[-1].replace(str(self.folder), "") if done.returncode else ""
        left = sorted(p.name for p in self.folder.iterdir() if p.name not in ("float.onnx", "data.npz", "trained.onnx"))
        if left:
            self.find(f"left behind: {left} {told[:200]}")
        if done.returncode:
            kept = any(words in told for words in ("is the best model", "was written all the same"))
            if self.written.exists() != kept:
                self.find(f"{'a' if self.written.exists() else 'no'} file in spite of {told[:300]}")
            if not kept and any(words in told for words in WHILE_TRAINING) and not any(words in told for words in KNOWN):
                self.find(f"ends while it trains: {told[:300]}")
            if not kept:
                return "diverged" if "--keep-diverged" in told else "refused: " + told[:160]
        self.look(json.loads(done.stdout), done.returncode != 0)
        if done.returncode == 0 or self.s.chance(0.3):
            self.repeat()
        if self.recipe.command == "train":
            self.stand_still()
            self.descend()
            self.add_up()
        return "written"

    def look(self, record, diverged):
        """What is wrong with what was written."""
        numbers = constants(self.written)
        bad = [name for name, a in numbers.items() if a.dtype.kind == "f" and not np.isfinite(a).all()]
        if bad and not diverged:
            self.find(f"NaN or infinity in {bad} without a word")
        if bad:
            return
        model = onnx.load(self.written)
        told = told_by_checker(self.written)
        if told and not told_by_checker(self.source) and not any(n.domain == "octet" for n in model.graph.node):
            self.find(f"ONNX's checker: {told}")
        self.unmoved(record, numbers)
        words = self.recipe.words
        if "--target" in words and not told:
            said = octet("check", self.written, "--target", words[words.index("--target") + 1])
            if said.returncode != 0:
                self.find(f"check of what was written for the target: {said.stdout[:300]} {said.stderr[:300]}")
        if any(n.domain == "octet" for n in model.graph.node):
            return
        # The walk of bounds has no rule for it.
        case = Case(self.lesson.seed, model, self.lesson.sets, free=any(n.op_type == "LogSoftmax" for n in model.graph.node))
        verdict = judge(case, runner)
        for finding in verdict.findings:
            self.find(str(finding))
        if verdict.refused:
            self.find(f"ONNX Runtime refuses it: {verdict.refused[:300]}")
            return
        self.done["judged"] += 1
        if self.recipe.command == "qat":
            self.compare_torch(case)
            self.count_bits(model, numbers)
        self.score(record, diverged)

    def unmoved(self, record, numbers):
        """What is neither trained nor a running statistic is what it was."""
        if self.recipe.command == "qat":
            return
        moves = set(record["parameters"])
        for n in self.lesson.model.graph.node:
            if n.op_type == "BatchNormalization" and "--freeze-batch-norm" not in self.recipe.words:
                moves.update(n.input[3:5])
        for name, array in self.s.constants.items():
            if name in self.recipe.freezes and name in record["parameters"]:
                self.find(f"{name} is frozen and trained")
            if name in numbers and name not in moves and numbers[name].tobytes() != array.tobytes() and not self.lesson.classes:
                self.find(f"{name} moved and is no parameter")

    def compare_torch(self, case):
        try:
            answers = training.runner.ask(case)
            self.faults += [f"torch: {text}" for text in training.values(case, answers, RUNS)]
            self.done["in torch"] += 1
        except Died as death:
            self.find(f"the runner of the torch executor died: {death}")
        except Unstable:
            pass

    def count_bits(self, model, numbers):
        """Codes of weights are of as many bits as were asked for."""
        words = self.recipe.words
        if "--weight-bits" not in words or "--layer" in words:
            return
        bits = int(words[words.index("--weight-bits") + 1])
        makers = {value: n for n in model.graph.node for value in n.output}
        for n in model.graph.node:
            made = makers.get(n.input[1]) if n.op_type in recipes.PRODUCTS else None
            while made is not None and made.op_type in ("DequantizeLinear", "Clip", "Transpose", "Reshape"):
                name = made.input[0]
                if name in numbers and numbers[name].dtype.kind in "iu":
                    codes = numbers[name].astype(int)
                    if codes.max() - codes.min() >= 2**bits:
                        self.find(f"{n.op_type}: codes {codes.min()} to {codes.max()} of a weight of {bits} bits")
                    self.done["weights counted"] += 1
                made = makers.get(name)

    def score(self, record, diverged):
        """octet's losses and scores of the test part, and NumPy's of what ONNX Runtime gives."""
        given = lessons.run(self.written, self.test, self.recipe.batch)
        wanted, last = self.test["y"], lessons.probabilities_at_end(self.written)
        if not np.isfinite(given).all():
            return
        self.compare_eval(given, wanted, last)
        r = self.recipe
        if r.precision != "f32" or not r.validates or r.holds_out or diverged or not record["epochs"]:
            return
        ours = record["epochs"][-1]["validation_loss"]
        theirs = lessons.loss_of(self.lesson.loss, last, given, wanted, r.smoothing)
        if theirs is not None and ours is not None:
            self.done["losses"] += 1
            # A code of another tie is another number.
            slack = 0.1 * abs(theirs) + 0.05 if r.command == "qat" else 1e-3 * abs(theirs) + 1e-5
            if abs(ours - theirs) > slack:
                self.find(f"loss of the test part: {ours:.7g}, NumPy has {theirs:.7g}")

    def compare_eval(self, given, wanted, last):
        said = octet("eval", self.written, "--data", self.data, "--batch", self.recipe.batch, "--latency-runs", 0, "--json", "--threads", 1)
        if said.returncode != 0:
            self.find(f"eval: exit {said.returncode}: {said.stderr[-300:].replace(str(self.folder), '')}")
            return
        e = json.loads(said.stdout)[0]
        self.done["evaluated"] += 1
        slack = (0.02 if self.recipe.command == "qat" else 1e-4) * np.abs(given).max() + 1e-6
        if self.lesson.loss == NUMBERS:
            if "mean_square_error" not in e:
                self.find(f"eval: no mean square error but {sorted(e)}")
                return
            gap = given.reshape(-1) - wanted.reshape(-1)
            if abs(e["mean_absolute_error"] - np.abs(gap).mean()) > slack or abs(e["mean_square_error"] - (gap**2).mean()) > slack * (np.abs(gap).max() + slack):
                self.find(f"eval: {e['mean_square_error']:.7g}, {e['mean_absolute_error']:.7g}, NumPy has {(gap**2).mean():.7g}, {np.abs(gap).mean():.7g}")
            return
        if self.lesson.loss == CLASSES:
            ordered = np.sort(given, axis=-1)
            right, sure = given.argmax(-1) == wanted, ordered[:, -1] - ordered[:, -2] > slack
        else:
            threshold = 0.5 if last == "Sigmoid" else 0.0
            right, sure = (given.reshape(-1) > threshold) == (wanted.reshape(-1) > 0.5), np.abs(given.reshape(-1) - threshold) > slack
        low, high = (right & sure).mean(), (right | ~sure).mean()
        if not low - 1e-9 <= e["accuracy"] <= high + 1e-9:
            self.find(f"eval: accuracy {e['accuracy']}, NumPy has {low} to {high}")

    def repeat(self):
        """The same bytes again, with another count of threads a file, and what an interrupted run leads to."""
        kind = self.s.choose("again", "threads", "resumed", "resumed", "", "")
        if not kind:
            return
        other = self.folder / "other.onnx"
        if kind == "threads":
            done = octet(*self.recipe.call(self.source, self.data, "--threads", 2, "-o", other))
            if done.returncode not in (0, 1):
                self.find(f"--threads 2: exit {done.returncode} {done.stderr[-300:]}")
            other.unlink(missing_ok=True)
            return
        if kind == "resumed" and not self.interrupt(other):
            return
        more = ["--resume"] if kind == "resumed" else []
        done = self.octet_train(other, *more)
        if not other.exists():
            self.find(f"{kind}: exit {done.returncode} {done.stderr[-300:].replace(str(self.folder), '')}")
        elif other.read_bytes() != self.written.read_bytes():
            self.find(f"{kind}: another file")
        self.done[kind] += 1
        other.unlink(missing_ok=True)

    def interrupt(self, other):
        """Ends a run once its checkpoint is there; whether it was early enough."""
        if "--no-checkpoint" in self.recipe.words:
            return False
        words = self.recipe.call(self.source, self.data, "--threads", 1, "-o", other, "--checkpoint-steps", 1)
        checkpoint = pathlib.Path(f"{other}.checkpoint")
        process = subprocess.Popen([OCTET, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begun = time.monotonic()
        while process.poll() is None and not checkpoint.exists() and time.monotonic() - begun < SECONDS:
            time.sleep(0.0005)
        process.send_signal(self.s.choose(signal.SIGINT, signal.SIGKILL))
        process.wait(SECONDS)
        for path in self.folder.iterdir():  # what a killed process had begun to write
            if ".tmp" in path.name:
                path.unlink()
        if other.exists():
            other.unlink()
            return False
        return checkpoint.exists()

    def alone(self, count):
        """Data of one part, and words that train without what draws or smooths."""
        path = self.folder / "one.npz"
        examples = self.lesson.examples(count)
        np.savez(path, **examples)
        return f"npz:{path}", examples

    def plain(self, data, rate, count, *more):
        """One step of plain descent."""
        output = self.folder / "step.onnx"
        words = ["train", self.source, "--data", data, "--loss", self.lesson.loss, "--optimizer", "sgd", "--schedule", "constant", "--lr", f"{rate:.9g}",
                 "--steps", 1, *([] if "--batch" in more else ["--batch", count]), "--freeze-batch-norm", "--threads", 1, "--no-checkpoint", "--json", "--force", "-o", output]
        done = octet(*words, *more)
        return (None, done.stderr) if done.returncode else (json.loads(done.stdout), output)

    def drops(self):
        return any(n.op_type == "Dropout" for n in self.lesson.model.graph.node)

    def stand_still(self):
        """A step of no length: parameters, and what the file computes, are what they were."""
        if self.lesson.classes or not self.s.chance(0.3):
            return
        count = self.lesson.batch or 6
        data, examples = self.alone(count)
        record, output = self.plain(data, 1e-12, count)
        if record is None:
            return
        self.done["stood still"] += 1
        after = constants(output)
        for name, array in self.s.constants.items():
            if name in after and array.dtype.kind == "f" and np.abs(after[name].astype(float) - array).max(initial=0) > 1e-6 * (1 + np.abs(array).max(initial=0)):
                self.find(f"a step of no length moved {name}")
        source = self.folder / "still.onnx"
        onnx.save(for_inference(self.lesson.model), source)
        before, now = (lessons.run(path, examples, count) for path in (source, output))
        if np.abs(before - now).max() > 1e-4 * np.abs(before).max() + 1e-6:
            self.find(f"a step of no length changed outputs by {np.abs(before - now).max():.3g} of {np.abs(before).max():.3g}")

    def are_apart(self, examples, count, batch):
        """Whether examples in another order, and in batches, give the same outputs: a step takes them as they are drawn."""
        features = {name: x for name, x in examples.items() if name != "y"}
        one, turned = (lessons.run(self.source, x, count) for x in (features, {name: x[::-1] for name, x in features.items()}))
        slack = 1e-4 * np.abs(one).max() + 1e-6
        parts = lessons.run(self.source, features, batch)
        return all(x.shape == one.shape and np.abs(one - x).max() <= slack for x in (turned[::-1], parts))

    def add_up(self):
        """A step of several batches is the step of one that has all of their examples; a clipped one is as long as was asked for."""
        if self.lesson.batch or self.lesson.classes or self.drops() or not self.s.chance(0.3):
            return
        count, batch = 6, self.s.choose(1, 2, 4, 5)
        data, examples = self.alone(count)
        if not self.are_apart(examples, count, batch):
            return

        def moved(*more):
            record, output = self.plain(data, 1e-2, count, *more)
            if record is None:
                return None
            after = constants(output)
            return {name: after[name].astype(np.float64) - a for name, a in self.s.constants.items() if name in after and a.dtype.kind == "f"}

        whole = moved()
        if whole is None:
            return
        length = np.sqrt(sum(float((d**2).sum()) for d in whole.values())) / 1e-2
        if not 1e-3 < length < 1e6:
            return
        parts = moved("--batch", batch, "--accumulate", -(-count // batch))
        clipped = moved("--clip-norm", 0.5 * length)
        if parts is None or clipped is None:
            self.find("a step of several batches, or a clipped one, is refused")
            return
        self.done["added up"] += 1
        for name, d in whole.items():
            slack = 1e-3 * np.abs(d).max(initial=0) + 3e-7 * (np.abs(self.s.constants[name]).max(initial=0) + 1e-2 * length)
            if np.abs(parts[name] - d).max(initial=0) > slack:
                self.find(f"{name} is moved by {np.abs(parts[name] - d).max():.3g} more by batches of {batch} than by one of {count}, which moves it by {np.abs(d).max():.3g}")
            if np.abs(clipped[name] - 0.5 * d).max(initial=0) > slack:
                self.find(f"{name} is moved by {np.abs(clipped[name]).max():.3g} with half the gradient's norm, without by {np.abs(d).max():.3g}")

    def descend(self):
        """The loss falls by the rate times the square of the gradient, the nearer the shorter the step."""
        if self.lesson.classes or self.drops() or not self.s.chance(0.5):
            return
        count = self.lesson.batch or 6
        data, examples = self.alone(count)
        kind, last = self.lesson.loss, lessons.probabilities_at_end(self.source)

        def loss(path):
            return lessons.loss_of(kind, last, lessons.run(path, examples, count), examples["y"])

        before, rate, shares = loss(self.source), 1e-3, []
        if before is None or before < 1e-6 or not self.are_apart(examples, count, count):
            return
        for wanted in (None, 1e-2, 1e-3, 1e-4):
            record, output = self.plain(data, rate, count)
            if record is None:
                return
            after = constants(output)
            steps = [after[name].astype(np.float64) - a for name, a in self.s.constants.items() if name in after and a.dtype.kind == "f"]
            square = sum(float((d**2).sum()) for d in steps) / rate**2
            if wanted is None:
                if abs(record["epochs"][-1]["train_loss"] - before) > 1e-4 * before:
                    self.find(f"loss of the first step: {record['epochs'][-1]['train_loss']:.7g}, NumPy has {before:.7g}")
                if not 1e-10 < square < 1e12:
                    return
            else:
                now = loss(output)
                if now is None:
                    return
                shares.append((before - now) / (rate * square))
                if 0.9 < shares[-1] < 1.1:
                    self.done["descended"] += 1
                    return
            rate = {None: 1e-2, 1e-2: 1e-3, 1e-3: 1e-4}.get(wanted, 0) * before / square
            if not 1e-12 <= rate <= 1e3:
                return
        self.find("steps of a hundredth, a thousandth and a ten-thousandth of the loss lower it by "
                  + ", ".join(f"{share:.4g}" for share in shares) + " times what the gradient says")


def for_inference(model):
    """Without what drops in training alone."""
    out = onnx.ModelProto()
    out.CopyFrom(model)
    for n in out.graph.node:
        if n.op_type == "Dropout":
            del n.input[2:]
    return out


def judge_seed(task):
    """(words, what became of it, what was tried, faults)."""
    seed, keep = task
    try:
        lesson = lessons.draw(seed)
    except Skipped as reason:
        return [], f"skipped: {str(reason)[:40]}", {}, []
    recipe = recipes.draw(lesson.sketch, lesson)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(keep or name)
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        trial = Trial(lesson, recipe, folder)
        words = recipe.call("M", "D")
        try:
            outcome = trial.run()
        except subprocess.TimeoutExpired as late:
            return words, "no end", trial.done, [*trial.faults, f"no end: {late.cmd[1]}"]
        trial.done[f"{recipe.command} {outcome.split(':')[0]}"] += 1
        return words, outcome, trial.done, trial.faults


def main():
    parser = searched.parser(__doc__, GRAPHS)
    options = parser.parse_args()
    seeds = searched.of(options)
    tasks = [(seed, str(options.out / str(seed)) if options.out else "") for seed in seeds]
    counts, tried, refusals, found = collections.Counter(), collections.Counter(), {}, Faults()
    with Workers(options.jobs, start_worker) as workers:
        for (seed, _), result in workers.map(judge_seed, tasks, 8 * SECONDS):
            words, outcome, done, faults = ([], "lost", {}, [str(result)]) if isinstance(result, Lost) else result
            counts[outcome.split(":")[0]] += 1
            tried.update(done)
            if outcome.startswith(("refused: ", "skipped: ")):
                refusals.setdefault(kind_of(outcome), []).append(seed)
            found.add(seed, faults, words)
    print(f"{sum(counts.values())} graphs: {dict(counts)}")
    for text, count in tried.most_common():
        print(f"  {count} x {text}")
    for text, of in sorted(refusals.items(), key=lambda item: -len(item[1]))[:30]:
        print(f"    {len(of)} x {text} (seed {of[0]})")
    found.print()
    few = counts["written"] < 0.3 * len(tasks) or any(tried[what] < 0.03 * len(tasks) for what in ("descended", "in torch", "losses", "resumed"))
    if few and not options.seeds:
        print("too little was tried to say anything")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
