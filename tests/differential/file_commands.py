# SPDX-License-Identifier: Apache-2.0
"""Random float, Q/DQ and quantized graphs through `octet pack`, repair, simplify --verify, export, eval, predict and run
(docs/differential.md): a store gives the model's bits or is not used, what was repaired or exported is what its target takes and computes
what it did, and three commands say the same of the same examples."""
import json
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import numpy as np
import onnx
from commands import changed_constant, examples_are_apart
from fuzzing.command import arrays_of, differing, octet, search
from fuzzing.free.coded import generate as draw_coded
from fuzzing.free.draw import generate as draw_free
from fuzzing.generate import Case, Skipped, generate, session
from fuzzing.halves import generate as draw_halves
from fuzzing.runner import Runner
from fuzzing.verdict import judge as judge_case
from quantize_command import draw_options, refusal
from work_commands import Graph, batches

GRAPHS = 60
TARGETS = ("octet", "onnxruntime", "onnxruntime-cuda", "tensorrt-8.6", "tensorrt-10", "tensorrt-11")
HEADER = struct.Struct("<8sIIIQQQQ")  # of a weight store (src/runtime/store_format.h): ..., bytes of the table, its hash
HEADER_BYTES = 4096
LEAST = {"pack": 0.5, "pack: another model": 0.25, "pack: damaged": 0.3, "repair": 0.2, "repaired": 0.15, "repair --data": 0.06, "simplified": 0.55, "export": 0.2, "predictions": 0.1}
runner = None  # of a worker process


class Subject:
    """A model, sets of inputs that it takes, and examples of it, where there are any."""

    def __init__(self, kind, path, sets, graph=None):
        self.kind, self.path, self.sets, self.graph = kind, path, sets, graph
        self.model = onnx.load(path)

    def with_suffix(self, suffix):
        return self.path.with_name(f"{self.path.stem}.{suffix}")


def draw_subjects(trial):
    """Graphs by turns: any operators, operators on codes, or Q/DQ in halves; Q/DQ; a float one with products, and what octet quantize makes of it."""
    if trial.seed % 4 < 2:
        others = ("free", draw_free), ("free", draw_coded), ("Q/DQ", draw_halves)
        kind, drawn = others[trial.seed // 4 % 3] if trial.seed % 4 == 0 else ("Q/DQ", generate)
        case = drawn(trial.seed)
        path = trial.folder / "model.onnx"
        onnx.save(case.model, path)
        return [Subject(kind, path, case.sets)]
    graph = Graph(trial)
    out = [Subject("float", graph.path, graph.sets, graph)]
    words, _ = draw_options(graph.s)
    quantized = trial.folder / "quantized.onnx"
    if octet("quantize", graph.path, "--data", graph.data, *words, "-o", quantized, "--force", "--threads", 1).returncode == 0:
        out.append(Subject("quantized", quantized, graph.sets, graph))
    return out


def outputs_of(trial, path, inputs, isa="", where=None, words=()):
    """(arrays or nothing, the finished process)."""
    file, out = trial.folder / "in.npz", trial.folder / "out.npz"
    np.savez(file, **inputs)
    out.unlink(missing_ok=True)
    done = octet("run", path, "--inputs", file, "-o", out, *words, isa=isa, where=where)
    return (arrays_of(out) if done.returncode == 0 else None), done


# Pack.

def damage(trial, data):
    """(a damaged store, whether reading it must tell)."""
    _, _, _, _, _, table_at, table_bytes, _ = HEADER.unpack_from(data)
    checked = table_at + table_bytes
    if trial.chance(0.25):
        return data[:trial.random.integers(len(data))], True
    where = trial.choose((0, 64), (0, HEADER_BYTES), (HEADER_BYTES, checked), (HEADER_BYTES, checked), (checked, len(data)))
    at = int(trial.random.integers(*where)) if where[1] > where[0] else 0
    out = bytearray(data)
    out[at] ^= 1 << int(trial.random.integers(8))
    return bytes(out), at < checked


def damaged(trial, subject, store, inputs, wanted):
    data, told = damage(trial, store.read_bytes())
    folder = trial.folder / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = folder / "model.octetpack"
    file.write_bytes(data)
    trial.tried["pack: damaged"] += 1
    alone, done = outputs_of(trial, file, inputs)
    if told:
        trial.done("run of a damaged store alone", done, (2,))
    elif trial.done("run of a damaged payload", done, (0, 2)):
        trial.tried["pack: damaged payload"] += 1
    trial.done("pack --verify of a damaged store", octet("pack", "--verify", file), (2, 1))
    shutil.copy2(subject.path, folder / "model.onnx")
    beside, done = outputs_of(trial, folder / "model.onnx", inputs)
    if trial.done("run beside a damaged store", done) and told:
        trial.check("run beside a damaged store", not differing(wanted, beside), "other numbers")
        trial.check("run beside a damaged store", "octetpack" in done.stderr, "no word of it")


def another_model(trial, subject, store, inputs):
    changed = changed_constant(subject.model)
    if changed is None:
        return
    folder = trial.folder / "another"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    onnx.save(changed[1], folder / "model.onnx")
    wanted, before = outputs_of(trial, folder / "model.onnx", inputs)
    shutil.copy2(store, folder / "model.octetpack")
    beside, done = outputs_of(trial, folder / "model.onnx", inputs)
    trial.tried["pack: another model"] += 1
    trial.check("another model's store", done.returncode == before.returncode, f"exit {done.returncode}: {done.stderr[-300:]}")
    if wanted is not None and beside is not None:
        trial.check("another model's store", not differing(wanted, beside), "its numbers")
        trial.check("another model's store", "is not what it was made of" in done.stderr, f"no word of it: {done.stderr[-200:]}")


def pack(trial, subject):
    wanted = [outputs_of(trial, subject.path, inputs, words=["--threads", 1])[0] for inputs in subject.sets]
    if wanted[0] is None:
        trial.tried[f"{subject.kind}: does not run"] += 1
        return
    store = trial.folder / "stores" / "store.octetpack"
    store.parent.mkdir(exist_ok=True)
    if not trial.done(f"pack of {subject.kind}", octet("pack", subject.path, "-o", store, "--force", *trial.threads())):
        return
    trial.tried["pack"] += 1
    trial.done("pack --verify", octet("pack", "--verify", store))
    for inputs, outputs in zip(subject.sets, wanted):
        if outputs is not None:
            got, done = outputs_of(trial, store.name, inputs, where=store.parent, words=trial.threads())
            if trial.done("run of a store", done):
                trial.check("run of a store", not differing(outputs, got), differing(outputs, got))
    if trial.chance(0.4):
        isa = trial.choose("scalar", "avx2")
        other = store.with_name("other.octetpack")
        if trial.done("pack --isa", octet("pack", subject.path, "-o", other, "--isa", isa, "--force")):
            got, done = outputs_of(trial, other, subject.sets[0], isa=isa)
            if trial.done(f"run of a store for {isa}", done):
                trial.check(f"run of a store for {isa}", not differing(wanted[0], got), differing(wanted[0], got))
            beside, done = outputs_of(trial, other, subject.sets[0])
            trial.check("run of a store for another instruction set", done.returncode == 2 or (beside is not None and not differing(wanted[0], beside)),
                        f"exit {done.returncode}: {done.stderr[-200:]}")
    damaged(trial, subject, store, subject.sets[0], wanted[0])
    another_model(trial, subject, store, subject.sets[0])


# Repair.

def is_standard(model):
    return not any("octet" in n.domain for n in model.graph.node)


def by_onnxruntime(model, inputs):
    try:
        made = session(model)
        return dict(zip([o.name for o in made.get_outputs()], made.run(None, inputs)))
    except Exception:  # whatever ONNX Runtime throws
        return None


def farthest(one, other):
    """The largest difference, and the largest number."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    if a.shape != b.shape:
        return np.inf, 1.0
    with np.errstate(invalid="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
    return float(off.max(initial=0)), float(np.abs(np.where(np.isfinite(a), a, 0)).max(initial=0))


def same_numbers(trial, what, before, after):
    for name, array in before.items():
        trial.check(what, name in after and array.tobytes() == after[name].tobytes(), f'"{name}" is not the same')


def compare_repaired(trial, subject, repaired, said):
    """Exact where it says so; else as far off as the data showed, and what runs it agrees."""
    model = onnx.load(repaired)
    exact = all(change["exact"] for change in said["changes"])
    for inputs in subject.sets:
        before, after = (outputs_of(trial, path, inputs, words=["--executor", "reference"])[0] for path in (subject.path, repaired))
        if before is not None:
            trial.check("repair", after is not None, "octet runs the original and not what it made of it")
        if exact and before is not None and after is not None:
            trial.tried["repaired exactly"] += 1
            same_numbers(trial, f"exact repair by the reference {sorted({c['rule'] for c in said['changes']})}", before, after)
        before, after = by_onnxruntime(subject.model, inputs), by_onnxruntime(model, inputs)
        if exact and before is not None and after is not None:
            same_numbers(trial, f"exact repair by ONNX Runtime {sorted({c['rule'] for c in said['changes']})}", before, after)
    if is_standard(model) and trial.chance(0.5):
        free = any(n.op_type == "DynamicQuantizeLinear" for n in model.graph.node)  # which has no bounds of its own
        found = judge_case(Case(trial.seed, model, subject.sets, free=free), runner).findings
        trial.faults += [f"repaired: {f}" for f in found if f.kind != "no bounds"]  # doubles beside constants of f16


def compare_on_data(trial, subject, repaired, said):
    """What it says of the outputs is what octet run gives, and not far from ONNX Runtime's."""
    graph = subject.graph
    size = graph.count() if graph.s.open_batch else graph.fixed
    pairs = [[outputs_of(trial, path, batch)[0] for path in (subject.path, repaired)] for batch in batches(graph.examples, size)]
    if any(None in pair for pair in pairs):
        return
    trial.tried["repaired on data"] += 1
    for entry in said["outputs"]:
        off = max(farthest(one[entry["output"]], other[entry["output"]])[0] for one, other in pairs)
        trial.check("repair --data", entry["max_error"] is None or abs(off - entry["max_error"]) <= 1e-6 * max(off, 1),
                    f"says max_error {entry['max_error']} of \"{entry['output']}\", by octet run {off}")


def repair(trial, subject):
    if subject.kind not in ("Q/DQ", "quantized"):
        return
    target = trial.choose(*TARGETS)
    words = ["--target", target]
    for option, values in (("--weights", ("stored", "float")), ("--zero-points", ("widen",)), ("--attention", ("int8", "float")), ("--precision", ("fp16", "bf16"))):
        if trial.chance(0.12):
            words += [option, trial.choose(*values)]
    if trial.chance(0.15):
        words.append("--unify-scales")
    with_data = subject.graph is not None and trial.chance(0.9)
    if with_data:
        trial.tried["repair --data"] += 1
        words += ["--data", subject.graph.data, "--samples", 0]
    repaired = trial.folder / "repaired.onnx"
    repaired.unlink(missing_ok=True)
    done = octet("repair", subject.path, *words, "-o", repaired, "--json", "--force", *trial.threads())
    trial.tried["repair"] += 1
    what = f"repair {' '.join(words[:2])}"
    if not trial.done(what, done, (0, 1)):
        trial.check(what, not repaired.exists(), "a file in spite of exit 1")
        if done.returncode == 1:
            trial.check(what, any(left["severity"] == "error" for left in json.loads(done.stdout)["left"]), "exit 1 and nothing is left")
        return
    trial.tried["repaired"] += 1
    trial.done(f"check of what was repaired for {target}", octet("check", repaired, "--target", target))
    said = json.loads(done.stdout)
    if "--precision" in words:
        return
    compare_repaired(trial, subject, repaired, said)
    if with_data and "outputs" in said:
        compare_on_data(trial, subject, repaired, said)


# Simplify and export.

def far_off(trial, what, subject, path):
    """Whether ONNX Runtime computes something else with another file of a model of floats."""
    if subject.kind == "free":
        return
    model = onnx.load(path)
    if not is_standard(model):
        return
    for inputs in subject.sets:
        before = by_onnxruntime(subject.model, inputs)
        if before is None:
            continue
        after = by_onnxruntime(model, inputs)
        if after is None:
            trial.check(what, octet("check", path, "--target", "onnxruntime").returncode != 0, f"ONNX Runtime refuses it: {refusal(path)[:200]}")
            continue
        for name, array in before.items():
            off, most = farthest(array, after[name])
            trial.check(what, off <= (1e-3 if subject.kind == "float" else 0.25) * most + 1e-5, f'"{name}" is off by {off:g} of {most:g} in ONNX Runtime')


def simplify(trial, subject):
    words = ["--verify", trial.choose(1, 2, 3)]
    if trial.chance(0.5):
        words += ["--executor", trial.choose("native", "reference")]
    if words[-1] == "native":  # an exact rewrite may leave another layout, and so other sums, to the native executor
        words += ["--tolerance", 1e-4]
    for flag in ("--standard-operators", "--keep-parameters", "--drop-training-dropout"):
        if trial.chance(0.2):
            words.append(flag)
    raised = trial.chance(0.2)
    if raised:
        words += ["--opset", trial.choose(13, 17, 20, 21, 23)]
    out = trial.folder / "simple.onnx"
    out.unlink(missing_ok=True)
    done = octet("simplify", subject.path, *words, "-o", out, "--force", *trial.threads())
    trial.tried["simplify"] += 1
    # Sizes that are made up for open ones need not fit: --shape says others.
    refuses = raised or subject.kind == "free" or "--verify: the model as it came" in done.stderr
    if trial.done(f"simplify of {subject.kind}", done, (0, 2) if refuses else (0,)):
        trial.tried["simplified"] += 1
        far_off(trial, f"simplify {' '.join(map(str, words))}", subject, out)


def checker_says(path):
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # its own, and those of shape inference
        return str(error)
    return ""


def export(trial, subject):
    words = []
    if trial.chance(0.6):
        words += ["--form", trial.choose("qdq", "qcdq", "qoperator", "fused")]
    if trial.chance(0.25):
        words += ["--precision", trial.choose("fp16", "bf16")]
    if trial.chance(0.4):
        words += ["--opset", trial.choose(13, 15, 17, 18, 19, 20, 21, 22, 23)]
    if trial.chance(0.5):
        words += ["--target", trial.choose(*TARGETS)]
    out = trial.folder / "exported.onnx"
    out.unlink(missing_ok=True)
    done = octet("export", subject.path, *words, "-o", out, "--force", *trial.threads())
    trial.tried["export"] += 1
    what = f"export {' '.join(map(str, words))}"
    if not trial.done(what, done, (0, 1, 2)):
        trial.check(what, not out.exists(), f"a file in spite of exit {done.returncode}")
        return
    trial.tried["exported"] += 1
    model = onnx.load(out)
    if is_standard(model) and not checker_says(subject.path):
        trial.check(what, not checker_says(out), f"ONNX's checker: {checker_says(out)[:300]}")
    if "--target" in words:
        trial.done(f"check of what was exported, {what}", octet("check", out, "--target", words[-1]))
    if "--precision" not in words:
        far_off(trial, what, subject, out)


# Eval, predict and run.

def with_loss(trial, subject):
    """The model as one that has learned numbers."""
    model = onnx.ModelProto()
    model.CopyFrom(subject.model)
    onnx.helper.set_model_props(model, {**{p.key: p.value for p in model.metadata_props}, "octet.loss": "mean-square"})
    path = subject.path.with_name(f"{subject.path.stem}_numbers.onnx")
    onnx.save(model, path)
    return path


def softmax(rows):
    e = np.exp(rows.astype(np.float64) - rows.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def read_predictions(path):
    if path.suffix == ".npz":
        return arrays_of(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {"index": np.array([x["index"] for x in lines]), "predicted": np.array([x["predicted"] for x in lines], np.float32)}


def predictions(trial, subject):
    graph = subject.graph
    if graph is None or not graph.has_rows:
        return
    apart = graph.s.open_batch and examples_are_apart(subject.model, graph.examples)
    count = graph.count()
    size = graph.fixed if not graph.s.open_batch else count
    name = subject.model.graph.output[0].name
    parts = [outputs_of(trial, subject.path, batch, words=trial.threads())[0] for batch in batches(graph.examples, size)]
    if any(part is None or len(part[name]) != size for part in parts):
        return
    rows = np.concatenate([part[name] for part in parts])
    numbers = trial.chance(0.5)
    path = with_loss(trial, subject) if numbers else subject.path
    labels = trial.random.standard_normal(rows.shape).astype(np.float32) if numbers else trial.random.integers(0, rows.shape[1], count)
    labels[:1] = 0 if numbers else rows.shape[1] - 1
    np.savez(trial.folder / "labelled.npz", y=labels, **graph.examples)
    data = ["--data", f"npz:{trial.folder / 'labelled.npz'}"]
    said = {}
    for command in ("eval", "predict"):
        file = trial.folder / f"{command}.{trial.choose('npz', 'jsonl') if numbers else 'npz'}"
        call = ["eval", path, "--save-predictions", file, "--latency-runs", 0] if command == "eval" else ["predict", path, "-o", file]
        batch = trial.choose(1, 2, 5, 7, count) if apart else size
        if not trial.done(command, octet(*call, *data, "--batch", batch, "--force", *trial.threads())):
            return
        said[command] = read_predictions(file)
        trial.check(command, np.array_equal(said[command]["index"], np.arange(count)), "other examples")
    trial.tried["predictions"] += 1
    for command, got in said.items():
        if numbers:
            trial.check(command, got["predicted"].shape == rows.shape and got["predicted"].astype(np.float32).tobytes() == rows.astype(np.float32).tobytes(),
                        f"numbers {got['predicted'].shape} are not those of octet run {rows.shape}")
    if not numbers:
        one, other = said["eval"]["probabilities"], said["predict"]["probabilities"]
        trial.check("eval and predict", one.tobytes() == other.tobytes(), "other probabilities")
        wanted = [softmax(rows), rows] if (rows >= 0).all() else [softmax(rows)]
        trial.check("predict", any(np.allclose(other, w, rtol=1e-4, atol=1e-6) for w in wanted), "probabilities are not the softmax of octet run's rows")


def judge(trial):
    subjects = draw_subjects(trial)
    for subject in subjects:
        if subject is subjects[-1] or trial.chance(0.3):
            pack(trial, subject)
            simplify(trial, subject)
            repair(trial, subject)
            export(trial, subject)
            predictions(trial, subject)


def start_worker():
    global runner
    runner = Runner(seconds=60)


if __name__ == "__main__":
    sys.exit(search(__doc__, judge, GRAPHS, start_worker, LEAST))
