# SPDX-License-Identifier: Apache-2.0
"""Random float graphs through `octet calibrate`, ranges merge, quantize --ranges, optimize and debug (docs/differential.md): parts merge
to the file of one run, ranges are those of ONNX Runtime's values, a search that was killed ends as one that was not, and what is said of
outputs is what NumPy says of ONNX Runtime's."""
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import numpy as np
import onnx
from commands import examples_are_apart
from onnx import TensorProto
from fuzzing import structure
from fuzzing.command import OCTET, octet, search, without_history
from fuzzing.generate import Skipped, session
from fuzzing.sketch import Node, to_model
from quantize_command import draw, draw_options, holds_exactly, is_no_choice

GRAPHS = 60
CALIBRATORS = ("min-max", "min-max", "percentile", "percentile:99", "entropy", "mse", "moving-average", "moving-average:0.3")
TARGETS = ("octet", "onnxruntime", "tensorrt-10", "tensorrt-11")
TESTED = 24  # batches of test data
MOST_DB = 200
LEAST = {"parts": 0.4, "ranges by NumPy": 0.4, "quantize --ranges": 0.2, "quantize --ranges, bit for bit": 0.18, "optimize": 0.2, "optimize killed": 0.1, "debug": 0.2,
         "outputs by NumPy": 0.1, "apply": 0.03}


class Graph:
    """A float graph with data of it."""

    def __init__(self, trial):
        self.s, _, self.sets, self.examples = draw(trial.seed)
        self.fixed = next(iter(self.sets[0].values())).shape[0]
        self.make(trial.folder)
        self.data = f"npz:{trial.folder / 'data.npz'}"
        np.savez(trial.folder / "data.npz", **self.examples)

    def make(self, folder):
        """The first output is a row for each example, where the last value allows it."""
        s, leaves = self.s, structure.live(self.s)[-3:]
        nodes, outputs = list(s.nodes), [(leaf, TensorProto.FLOAT, None) for leaf in leaves]
        shape = s.shape(leaves[0])
        self.has_rows = len(shape) > 1 and shape[0] == self.fixed and int(np.prod(shape[1:])) > 1
        if self.has_rows and len(shape) > 2:
            nodes.append(Node("Flatten", [leaves[0]], ["rows"], {"axis": 1}))
            outputs[0] = ("rows", TensorProto.FLOAT, None)
        self.model, self.path = to_model(s, nodes, s.constants, outputs), folder / "float.onnx"
        onnx.save(self.model, self.path)

    def count(self):
        return len(next(iter(self.examples.values())))

    def draw_examples(self, random, count):
        return {name: (random.integers(0, self.s.ids[name], (count, *x.shape[1:])) if name in self.s.ids
                       else random.standard_normal((count, *x.shape[1:])).astype(np.float32)) for name, x in self.examples.items()}


def batches(examples, size):
    count = len(next(iter(examples.values())))
    for at in range(0, count, size):
        yield {name: x[at:at + size] for name, x in examples.items()}


def run_over(model, examples, size):
    """Outputs of ONNX Runtime by name, examples one behind the other; nothing where it refuses."""
    try:
        made = session(model)
        names = [output.name for output in made.get_outputs()]
        parts = [made.run(None, batch) for batch in batches(examples, size)]
    except Exception:  # whatever ONNX Runtime throws
        return None
    return {name: [part[k] for part in parts] for k, name in enumerate(names)}


# Calibrate.

def observe_parts(trial, graph, words, output, merged):
    """In parts, merged in any order; whether a file came of it."""
    count = trial.choose(1, 2, 3, 5, 8, 20)
    parts = []
    for i in range(1, count + 1):
        parts.append(trial.folder / f"part-{i}.shard")
        done = octet("calibrate", graph.path, "--data", graph.data, *words, "--shard", f"{i}/{count}", "-o", parts[-1], *trial.threads(), "--force")
        if not trial.done("calibrate --shard", done):
            return False
    trial.random.shuffle(parts)
    return trial.done("ranges merge", octet("ranges", "merge", *parts, *output, "-o", merged, "--force"))


def ranges_by_numpy(trial, graph):
    """Min-max ranges are the ends of what ONNX Runtime computes."""
    s, size = graph.s, trial.choose(1, 5, 64)
    file = trial.folder / "all.ranges"
    done = octet("calibrate", graph.path, "--data", graph.data, "--calibrator", "min-max", "--samples", 0, "--batch", size, "-o", file, "--force", *trial.threads())
    if not trial.done("calibrate", done, (0, 2)):
        return
    if "calibrated one at a time" in done.stdout + done.stderr:
        size = 1
    ranges, size = json.loads(file.read_text()), size if s.open_batch else graph.fixed
    names = [name for n in s.nodes for name in n.outputs if name and name not in s.integers]
    values = run_over(to_model(s, s.nodes, s.constants, [(name, TensorProto.FLOAT, None) for name in names]), graph.examples, size)
    if values is None:
        return
    trial.tried["ranges by NumPy"] += 1
    values.update({name: [x] for name, x in graph.examples.items() if name not in s.ids})
    for name, arrays in values.items():
        whole = np.concatenate([a.reshape(-1) for a in arrays])
        if not np.isfinite(whole).all():
            continue
        if name not in ranges:
            trial.check("calibrate", False, f'no range of "{name}"')
            continue
        leeway = 1e-4 * np.abs(whole).max() + 1e-6
        low, high = float(whole.min()), float(whole.max())
        trial.check("min-max", abs(ranges[name][0] - low) <= leeway and abs(ranges[name][1] - high) <= leeway,
                    f'"{name}" is {ranges[name]}, computed {[low, high]}')


def calibrate(trial, graph):
    name, size = trial.choose(*CALIBRATORS), trial.choose(1, 3, 5, 7, 64)
    samples = trial.choose(0, 0, 0, 1, graph.count() // 2, graph.count() - 1)
    words = ["--calibrator", name, "--batch", size, "--samples", samples]
    if trial.chance(0.5):
        words.append("--asymmetric")
    output = ["--format", trial.choose("json", "json", "json", "tensorrt", "onnxruntime")]
    whole, again, merged = (trial.folder / f"{stem}.ranges" for stem in ("whole", "again", "merged"))
    made = octet("calibrate", graph.path, "--data", graph.data, *words, *output, "-o", whole, "--threads", 1, "--force")
    if not trial.done("calibrate", made, (0, 2)):
        trial.tried[f"no calibration: {made.stderr.splitlines()[-1][-70:]}"] += 1
        return
    trial.done("calibrate again", octet("calibrate", graph.path, "--data", graph.data, *words, *output, "-o", again, "--threads", 3, "--force"))
    trial.check("calibrate", again.read_bytes() == whole.read_bytes(), "threads make another file")
    if observe_parts(trial, graph, words, output, merged):
        trial.tried["parts"] += 1
        trial.check("ranges merge", merged.read_bytes() == whole.read_bytes(), "not the file of one run")
    if output[1] != "json":
        return
    quantize_by_ranges(trial, graph, words, whole)


def near_enough(one, other):
    """Whether files differ in rounding alone: quantize observes the network that it has simplified, and the next bin of a histogram may be the best."""
    a, b = onnx.load(one), onnx.load(other)
    constants = [{t.name: onnx.numpy_helper.to_array(t) for t in m.graph.initializer} for m in (a, b)]
    if [n.SerializeToString(deterministic=True) for n in a.graph.node] != [n.SerializeToString(deterministic=True) for n in b.graph.node]:
        return False
    if {k: (x.shape, x.dtype) for k, x in constants[0].items()} != {k: (x.shape, x.dtype) for k, x in constants[1].items()}:
        return False
    for name, x in constants[0].items():
        x, y = (c[name].astype(np.float64).reshape(-1) for c in constants)
        whole = constants[0][name].dtype.kind in "iu"
        if x.size and not np.array_equal(x, y) and np.abs(x - y).max() > 0.01 * np.abs(x).max() + (1 if whole else 0):
            return False
    return True


def quantize_by_ranges(trial, graph, words, ranges):
    """With ranges from a file as with the data that they are of."""
    # Behind a clamp octet and ONNX Runtime take codes with a zero point, for which these two clip each side by itself.
    by_scheme = words[words.index("--calibrator") + 1].split(":")[0] in ("percentile", "mse")
    target = ["--target", trial.choose(*TARGETS[:2])] if "--asymmetric" in words else ["--target", trial.choose(*TARGETS[2 * by_scheme:]), "--symmetric"]
    more = [w for flag in ("--per-tensor", "--softmax", "--embeddings") if trial.chance(0.15) for w in (flag,)]
    if trial.chance(0.3):
        more += ["--weights", trial.choose("int8", "uint8", "int4", "fp8-e4m3fn")]
    elif trial.chance(0.2) and not any(w in ("mse", "entropy") for w in words):  # which look at the codes there are
        more += ["--activation-bits", trial.choose(4, 6)]
    by_data, by_ranges = trial.folder / "by_data.onnx", trial.folder / "by_ranges.onnx"
    one = octet("quantize", graph.path, "--data", graph.data, *words, *target, *more, "-o", by_data, "--force", *trial.threads())
    other = octet("quantize", graph.path, "--ranges", ranges, *(w for w in words if w == "--asymmetric"), *target, *more, "-o", by_ranges,
                  "--force", *trial.threads())
    if not trial.done("quantize by data", one, (0, 1, 2)):
        trial.check("quantize --ranges", other.returncode == one.returncode, f"exit {other.returncode}, by data {one.stderr[-300:]}")
        return
    if trial.done("quantize --ranges", other):
        trial.tried["quantize --ranges"] += 1
        same = without_history(by_data) == without_history(by_ranges)
        trial.tried["quantize --ranges, bit for bit"] += same
        trial.check("quantize --ranges", same or near_enough(by_data, by_ranges), f"another file than by data: {words} {target} {more}")


# Optimize.

def search_data(trial, graph):
    """Data in two parts, with labels where there are rows: what ONNX Runtime finds likeliest, of a tenth something else."""
    count = TESTED * graph.fixed
    train, test = graph.examples, graph.draw_examples(trial.random, count)
    arrays = {f"{name}_train": x for name, x in train.items()} | {f"{name}_test": x for name, x in test.items()}
    labels = None
    if graph.has_rows and trial.chance(0.7):
        rows = [run_over(graph.model, x, graph.fixed) for x in (train, test)]
        if None in rows:
            raise Skipped("ONNX Runtime refuses it")
        scores = [np.concatenate(next(iter(r.values()))) for r in rows]
        if len(scores[1]) == count:
            labels = [np.where(trial.random.random(len(s)) < 0.1, trial.random.integers(0, s.shape[1], len(s)), s.argmax(axis=1)) for s in scores]
            arrays |= {"y_train": labels[0], "y_test": labels[1]}
    np.savez(trial.folder / "search.npz", **arrays)
    return test, None if labels is None else labels[1]


def killed(trial, call, seconds, output):
    """The search, killed at random moments and begun again until it ends; how often."""
    kills = 0
    while True:
        process = subprocess.Popen([OCTET, *map(str, call), "-o", output, "--force"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if kills < 3:
            time.sleep(trial.random.uniform(0, 1.2 * seconds))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
        _, said = process.communicate(timeout=120)
        if process.returncode != -signal.SIGKILL:
            trial.check("optimize after a kill", process.returncode == 0, f"exit {process.returncode}: {said.decode(errors='replace')[-300:]}")
            return kills


def near_ties(scores):
    """Rows whose likeliest classes are so near each other that a code decides."""
    top = np.sort(scores, axis=1)[:, -2:]
    return int((top[:, 1] - top[:, 0] <= 0.02 * np.abs(scores).max()).sum())


def accuracy_by_numpy(trial, graph, said, best, test, labels):
    """On the examples held out of the search: it takes evenly spread ones, and the last word has all others."""
    count = said["examples"]["search"]
    searched = {i * len(labels) // count for i in range(count)}
    held = [i for i in range(len(labels)) if i not in searched]
    if said["held_out_checks"] == 0:
        held = sorted(searched)
    else:
        trial.check("optimize", len(held) == said["examples"]["held_out"], f"examples {said['examples']} of {len(labels)}")
    for key, model in (("accuracy_float", graph.model), ("accuracy", onnx.load(best))):
        outputs = run_over(model, {name: x[held] for name, x in test.items()}, graph.fixed)
        if outputs is None:
            trial.check("optimize", said["target"] != "onnxruntime", "ONNX Runtime refuses what was written for it")
            continue
        scores = np.concatenate(outputs[graph.model.graph.output[0].name])
        right = (scores.argmax(axis=1) == labels[held]).mean()
        trial.tried[f"{key} by NumPy"] += 1
        trial.check("optimize", abs(right - said[key]) * len(held) <= near_ties(scores) + 1e-6, f"{key} {said[key]}, by NumPy {right}")


def optimize(trial, graph):
    test, labels = search_data(trial, graph)
    target = trial.choose("octet", "octet", *TARGETS)
    call = ["optimize", graph.path, "--data", f"npz:{trial.folder / 'search.npz'}", "--costs", "model", "--target", target, "--goal",
            trial.choose("speed", "speed", "size"), "--samples", graph.count(), "--search-samples", TESTED // 2 * graph.fixed,
            "--check-samples", TESTED * graph.fixed, "--seed", trial.choose(1, 7)]
    if labels is not None:
        call += ["--max-drop", trial.choose(0, 0.5, 2, 10)]
    if labels is None or trial.chance(0.3):
        call += ["--min-sqnr", trial.choose(10, 25, 40, 60)]
    best, plan = trial.folder / "best.onnx", trial.folder / "best.json"
    begun = time.monotonic()
    done = octet(*call, "-o", best, "--save-plan", plan, "--json", "--force", "--restart", *trial.threads())
    seconds = time.monotonic() - begun
    if not trial.done("optimize", done, (0, 1, 2)):
        trial.check("optimize", not is_no_choice(done.stderr), done.stderr[-300:])
        trial.tried[f"no search: {done.stderr.splitlines()[-1][-70:]}"] += 1
        return
    trial.tried["optimize"] += 1
    said = json.loads(done.stdout)
    trial.tried[f"optimize kept {said['kept']}"] += 1
    trial.done(f"check --target {target} of the best", octet("check", best, "--target", target))
    if labels is not None and (not graph.s.open_batch or examples_are_apart(graph.model, graph.examples)):
        accuracy_by_numpy(trial, graph, said, best, test, labels)
    if said["kept"] == "quantized":
        trial.tried["plan of the best"] += 1
        again = octet("quantize", graph.path, "--plan", plan, "-o", trial.folder / "planned.onnx", "--json", "--force")
        if trial.done("quantize --plan of the best", again):
            trial.tried["the best is mended"] += bool(json.loads(again.stdout)["notes"])
            trial.check("optimize", without_history(trial.folder / "planned.onnx") == without_history(best), "its plan makes another file")
    if seconds < 4 and trial.chance(0.6):
        again = trial.folder / "killed.onnx"
        trial.tried["kills"] += killed(trial, [*call, *trial.threads()], seconds, again)
        trial.tried["optimize killed"] += 1
        if again.exists():
            trial.check("optimize killed", again.read_bytes() == best.read_bytes(), "another file")


# Debug.

def noise_of(wanted, given):
    """Squared error over power."""
    a, b = (np.concatenate([x.reshape(-1) for x in arrays]).astype(np.float64) for arrays in (wanted, given))
    if a.shape != b.shape:
        return None
    power, error = float((a * a).sum()), float(((a - b) ** 2).sum())
    return 0.0 if error == 0 else error / power if power > 0 else np.inf


def decibels(noise):
    return MOST_DB if noise <= 10 ** (-MOST_DB / 10) else -10 * np.log10(noise)


def outputs_by_numpy(trial, graph, said, quantized, size):
    """SQNR of the outputs; their mean noise over several. One code at a tie moves it by what it is of all."""
    one, other = run_over(graph.model, graph.examples, size), run_over(onnx.load(quantized), graph.examples, size)
    if one is None or other is None:
        return
    noises = [noise_of(one[name], other[name]) for name in one]
    if any(n is None or not np.isfinite(n) for n in noises):
        return
    trial.tried["outputs by NumPy"] += 1
    told = 10 ** (-said / 10)
    noise = float(np.mean(noises))
    trial.check("debug", abs(np.sqrt(told) - np.sqrt(noise)) <= 0.1 * np.sqrt(noise) + 3e-6, f"outputs {said:.2f} dB, by NumPy {decibels(noise):.2f} dB")


def debug(trial, graph):
    words, _ = draw_options(graph.s)
    quantized = trial.folder / "quantized.onnx"
    plan = ["--save-plan", trial.folder / "made.json"] if trial.chance(0.5) else []
    done = octet("quantize", graph.path, "--data", graph.data, *words, *plan, "-o", quantized, "--force", "--threads", 1)
    if done.returncode != 0:
        return
    size = graph.fixed if not graph.s.open_batch else trial.choose(1, 4, 64)
    one = octet("debug", quantized, "--data", graph.data, "--limit", 0, "--batch", size, *trial.threads())
    if "no quantized layer" not in one.stderr:  # codes beside floats alone: nothing is computed in integers
        trial.done(f"debug of one model {words}", one)
    call = ["debug", graph.path, quantized, "--data", graph.data, "--limit", 0, "--batch", size, "--json", *trial.threads()]
    call += ["--plan", plan[1]] if plan else []
    one = octet(*call)
    on_codes = any(word in n.op_type for n in onnx.load(quantized).graph.node for word in ("Quant", "QLinear", "Integer", "NBits"))
    if not on_codes and "holds no codes" in one.stderr:  # the plan left every layer in float
        return
    if not trial.done(f"debug {words}", one):
        return
    trial.tried["debug"] += 1
    said = json.loads(one.stdout)
    found = json.loads(octet("check", quantized, "--target", "onnxruntime", "--json").stdout or '{"findings": []}')["findings"]
    standard = not any("octet" in n.domain for n in onnx.load(quantized).graph.node)
    if standard and said["output"]["sqnr_db"] is not None and holds_exactly(quantized, found):
        outputs_by_numpy(trial, graph, said["output"]["sqnr_db"], quantized, size)
    better, changed = trial.folder / "better.onnx", trial.folder / "better.json"
    applied = octet(*call, "--apply", "-o", better, "--save-plan", changed, "--force")
    if not trial.done(f"debug --apply {words}", applied, (0, 1)):
        trial.check("debug --apply", not better.exists(), "a file in spite of exit 1")
        return
    trial.tried["apply"] += 1
    target = words[words.index("--target") + 1] if "--target" in words else "octet"
    trial.done("check of what debug --apply wrote", octet("check", better, "--target", target))
    if trial.done("quantize --plan of debug --apply", octet("quantize", graph.path, "--plan", changed, "-o", trial.folder / "planned.onnx", "--force")):
        trial.check("debug --apply", without_history(trial.folder / "planned.onnx") == without_history(better), "its plan makes another file")


def judge(trial):
    graph = Graph(trial)
    calibrate(trial, graph)
    if trial.chance(0.7):
        ranges_by_numpy(trial, graph)
    if trial.chance(0.5):
        optimize(trial, graph)
    debug(trial, graph)


def start_worker():
    pass


if __name__ == "__main__":
    sys.exit(search(__doc__, judge, GRAPHS, start_worker, LEAST))
