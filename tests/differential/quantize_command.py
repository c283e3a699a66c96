# SPDX-License-Identifier: Apache-2.0
"""Random float graphs through `octet quantize` with random options (docs/differential.md): it writes a file or says why not, the
file is what ONNX's checker, every executor and ONNX Runtime take and agree on, check says of ONNX Runtime what ONNX Runtime does, and a
saved plan writes the same file again."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto
from fuzzing import seeds as searched, structure
from fuzzing.faults import Faults, kind_of
from fuzzing.generate import Case, Skipped, calibrate, input_sets
from fuzzing.runner import Runner
from fuzzing.sketch import to_model
from fuzzing.verdict import judge
from fuzzing.workers import Lost, Workers

GRAPHS = 200
EXAMPLES = 12
SECONDS = 60
TARGETS = ("octet", "onnxruntime", "onnxruntime", "tensorrt-10", "tensorrt-11")
WEIGHTS = ("int8", "uint8", "int16", "int4", "uint4", "int2", "uint2", "fp8-e4m3fn", "fp8-e5m2", "fp8-e4m3fnuz", "fp8-e5m2fnuz", "mxfp8-e4m3",
           "mxfp4", "nvfp4", "float", "int4/16", "int4/32", "int8/32", "uint4/16", "fp8-e4m3fn/32", "int2/16")
ACTIVATIONS = ("int8", "uint8", "int16", "uint16", "int4", "fp8-e4m3fn", "fp8-e5m2", "fp8-e4m3fnuz", "fp8-e5m2fnuz", "float")
CALIBRATORS = ("min-max", "min-max", "mse", "percentile:99.9", "entropy", "moving-average:0.1", "auto")
STEPS = ("smooth", "equalize", "correct-bias", "adaround", "gptq", "seq-mse", "outliers", "reconstruct")
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
runner = None  # of a worker process
optimized = False


def start_worker(also_optimized):
    global runner, optimized
    runner, optimized = Runner(seconds=SECONDS), also_optimized


def octet(*words):
    return subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=SECONDS)


def draw_options(s):
    """Words behind `octet quantize`, without files, and the mode."""
    products = [n.op for n in s.nodes if n.op in PRODUCTS]
    mode = s.choose("static", "static", "static", "weight-only", "dynamic")
    words = ["--mode", mode]
    if s.chance(0.4):
        words += ["--target", s.choose(*TARGETS)]
    if s.chance(0.7 if mode != "dynamic" else 0.2):
        words += ["--weights", s.choose(*WEIGHTS)]
    elif s.chance(0.2):
        words += ["--weight-bits", s.choose(2, 3, 4, 6)]
    if mode == "static" and s.chance(0.5):
        words += ["--activations", s.choose(*ACTIVATIONS)]
    elif mode == "static" and s.chance(0.25):
        words += ["--activation-bits", s.choose(2, 4, 6)]
    if mode == "static":
        words += ["--calibrator", s.choose(*CALIBRATORS)]
    for _ in range(s.choose(0, 0, 1, 2)):
        what = [f"weights={s.choose(4, 6, *WEIGHTS)}", f"activations={s.choose(4, 6, 'dynamic', *ACTIVATIONS)}", "per=tensor", "per=channel"]
        pattern = s.choose(*products, *products, "n1*", "*")
        words += ["--layer", f"{pattern}:{','.join(dict.fromkeys(s.choose(*what) for _ in range(s.choose(1, 2))))}"]
    for flags in (["--per-tensor"], ["--symmetric", "--asymmetric"], ["--softmax"], ["--embeddings"]):
        if s.chance(0.12):
            words.append(s.choose(*flags))
    if s.chance(0.15):
        words += ["--weight-calibrator", s.choose("mse", "mse:3", "percentile:99")]
    if mode == "static" and s.chance(0.25):
        words += ["--steps", ",".join(dict.fromkeys(s.choose(*STEPS) for _ in range(s.choose(1, 2))))]
    if s.chance(0.1):
        words += [s.choose("--exclude", "--include"), s.choose(*products)]
    if mode == "static" and any(n.op == "LSTM" for n in s.nodes) and s.chance(0.5):
        words += ["--layer", "LSTM:activations=dynamic"]
    if mode == "static" and s.chance(0.5):
        words += ["--correct-biases", s.choose("yes", "yes", "no")]
    if mode != "weight-only" and s.chance(0.2):
        words.append("--reduce-range")
    return words, mode


def fade(s):
    """Makes the weights of a channel of some products tiny beside their bias, as batch norm leaves dead ones."""
    for n in s.nodes:
        if n.op not in PRODUCTS or n.inputs[1] not in s.constants or not s.chance(0.25):
            continue
        w = s.constants[n.inputs[1]].copy()
        axis = {"Conv": 0, "ConvTranspose": 1, "Gemm": 0 if n.attributes.get("transB") else 1}.get(n.op, w.ndim - 1)
        if w.dtype == np.float32 and w.ndim > 1 and w.shape[axis] > 1:
            np.moveaxis(w, axis, 0)[s.random.integers(w.shape[axis])] *= np.float32(1e-9)
            s.constants[n.inputs[1]] = w


def draw(seed):
    """(sketch, model, sets of inputs, examples for calibration)."""
    s = structure.draw_structure(np.random.default_rng([seed, 29]))
    if not any(n.op in PRODUCTS for n in s.nodes):
        raise Skipped("no product")
    fade(s)
    sets = input_sets(s)
    calibrate(s, sets)
    leaves = structure.live(s)[-3:]
    model = to_model(s, s.nodes, s.constants, [(leaf, TensorProto.FLOAT, None) for leaf in leaves])
    if len({s.shape(name)[0] for name in s.inputs}) != 1:
        raise Skipped("batches of several sizes")
    examples = {}
    for name, x in sets[0].items():
        several = (x.shape[0] * EXAMPLES, *x.shape[1:])
        examples[name] = (s.random.integers(0, s.ids[name], several) if name in s.ids
                          else s.random.standard_normal(several).astype(np.float32))
    return s, model, sets, examples


def refusal(path):
    """Why ONNX Runtime does not load the file, as it is and where that is asked for optimized; nothing where it does."""
    levels = onnxruntime.GraphOptimizationLevel
    for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL)[:2 if optimized else 1]:
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.graph_optimization_level = 4, level
        options.intra_op_num_threads = 1
        try:
            onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # whatever ONNX Runtime throws
            return str(error)
    return ""


def holds_exactly(path, found):
    """Whether ONNX Runtime has an exact mode for all of a file, by what check finds in it, and certify in products of two activations."""
    if any(f["rule"] in ("exact-mode-kernel", "exact-mode-zero-point", "shared-constant", "rounded-weight", "merged-pairs") for f in found):
        return False
    said = octet("certify", path, "--json").stdout
    return not any("both factors are computed" in layer["why"] for layer in json.loads(said or '{"not_examined": []}')["not_examined"])


def look_at(path, words, mode, seed, sets):
    """What is wrong with a file that was written."""
    faults = []
    model = onnx.load(path)
    domains = {n.domain for n in model.graph.node}
    try:
        onnx.checker.check_model(str(path), full_check="octet" not in "".join(domains))
    except Exception as error:
        # Of what was drawn, GroupNormalization before operator set 21.
        if "octet" not in "".join(domains) and "is deprecated in" not in str(error):
            faults.append(f"ONNX's checker: {str(error)[:300]}")
    target = words[words.index("--target") + 1] if "--target" in words else ""
    if target:
        said = octet("check", path, "--target", target)
        if said.returncode != 0:
            faults.append(f"check of what was written for the target: {said.stdout[:300]} {said.stderr[:300]}")
    if "--reduce-range" in words:
        layers = json.loads(octet("certify", path, "--json").stdout)["layers"]
        faults += [f"{layer['node']} can saturate" for layer in layers if layer["saturating_pairs"]]
    said_of = octet("check", path, "--target", "onnxruntime", "--json")
    refused = refusal(path)
    found = json.loads(said_of.stdout or '{"findings": []}')["findings"]
    # What check refuses may be what only its optimizations make.
    if said_of.returncode not in (0, 1) or (said_of.returncode == 0 and refused):
        rules = [f["rule"] for f in found if f["severity"] == "error"]
        faults.append(f"check: {said_of.returncode} {rules}, ONNX Runtime: {refused[:300] or 'loads it'}")
    if target == "onnxruntime" and any(f["rule"] == "rounded-weight" for f in found):
        faults.append("ONNX Runtime quantizes what the file leaves in float")
    said = octet("explain", path, "--target", target or "onnxruntime")
    if said.returncode not in (0, 1):
        faults.append(f"explain: {said.returncode} {said.stderr[:300]}")
    if "octet" not in "".join(domains):
        # Nothing bounds what an LSTM of codes makes of the errors before it.
        free = mode == "dynamic" or any(n.op_type in ("DynamicQuantizeLSTM", "DynamicQuantizeLinear") for n in model.graph.node)
        verdict = judge(Case(seed, model, sets, free=free), runner,
                        optimized=optimized and said_of.returncode == 0 and mode != "dynamic" and holds_exactly(path, found))
        faults += [str(f) for f in verdict.findings]
    return faults


def is_no_choice(said):
    """Whether what was refused is no option that was drawn, but something on the way that failed. What is left is known."""
    known = ("is not known to mean the same in opsets",)  # of GroupNormalization and AveragePool
    return any(mark in said for mark in ("auto: ", "the block that ends with", ": node ")) and not any(k in said for k in known)


def judge_seed(task):
    """(words, "written" or what was said instead, faults)."""
    seed, keep = task
    try:
        s, model, sets, examples = draw(seed)
    except Skipped as reason:
        return [], f"skipped: {str(reason)[:40]}", []
    words, mode = draw_options(s)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(keep or name)
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / "float.onnx")
        np.savez(folder / "data.npz", **examples)
        written = folder / "quantized.onnx"
        data = ["--data", f"npz:{folder / 'data.npz'}"] if mode == "static" or s.chance(0.3) else []
        call = ["quantize", folder / "float.onnx", *data, *words, "--threads", 1, "--force"]
        plan = folder / "plan.json"
        try:
            done = octet(*call, "-o", written, "--save-plan", plan)
            if done.returncode == 0:
                faults = look_at(written, words, mode, seed, sets)
                if s.chance(0.3):
                    again = folder / "again.onnx"
                    repeated = octet("quantize", folder / "float.onnx", "--plan", plan, "-o", again, "--force", "--threads", 1,
                                     *(word for word in words if word == "--reduce-range"))
                    if repeated.returncode != 0 or again.read_bytes() != written.read_bytes():
                        faults.append(f"--plan: {repeated.stderr[:300] or 'another file'}")
                return words, "written", faults
        except subprocess.TimeoutExpired as late:
            return words, "no end", [f"no end: {late.cmd[1]}"]
        if done.returncode not in (1, 2) or not done.stderr.strip():
            return words, "failed", [f"exit {done.returncode}: {done.stderr[:300]}"]
        if written.exists():
            return words, "refused", [f"a file in spite of {done.stderr[:300]}"]
        if is_no_choice(done.stderr):
            return words, "refused", [f"exit {done.returncode}: {done.stderr[:300]}"]
        return words, "refused: " + done.stderr.strip().splitlines()[-1].split("float.onnx: ")[-1][:160], []


def main():
    parser = searched.parser(__doc__, GRAPHS)
    parser.add_argument("--optimized", action=argparse.BooleanOptionalAction, default=True, help="what check accepts loads with ONNX Runtime's optimizations too, and gives what it gives without")
    options = parser.parse_args()
    seeds = searched.of(options)
    tasks = [(seed, str(options.out / str(seed)) if options.out else "") for seed in seeds]
    counts, refusals, found = collections.Counter(), collections.Counter(), Faults()
    with Workers(options.jobs, start_worker, (options.optimized,)) as workers:
        for (seed, _), result in workers.map(judge_seed, tasks, 4 * SECONDS):
            words, outcome, faults = ([], "lost", [str(result)]) if isinstance(result, Lost) else result
            counts[outcome.split(":")[0]] += 1
            if outcome.startswith("refused: "):
                refusals[kind_of(outcome)] += 1
            found.add(seed, faults, words)
    print(f"{sum(counts.values())} graphs: {dict(counts)}")
    for text, count in refusals.most_common(12):
        print(f"  {count} x {text}")
    found.print()
    if counts["written"] < 0.35 * len(tasks):
        print("too few files were written to say anything")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
