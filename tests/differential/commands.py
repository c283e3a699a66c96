# SPDX-License-Identifier: Apache-2.0
"""Random float and Q/DQ graphs through `octet view`, lock, verify and certify (docs/differential.md): a page has every node of the file
once, a lock is quiet on its own file over threads, batches and instruction sets and names a changed constant, a certificate is JSON, and
where it says that nothing saturates ONNX Runtime computes what its exact mode does."""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import numpy as np
import onnx
from fuzzing import seeds as searched
from fuzzing.faults import Faults
from fuzzing.free.draw import generate as draw_free
from fuzzing.generate import Skipped, generate, generate_float, session
from onnx import TensorProto

GRAPHS = 120
SECONDS = 60
BELOW_BYTES = {TensorProto.DataType.Value(name) for name in ("INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2")}
OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"


def octet(*words, isa=""):
    environment = {**os.environ, **({"OCTET_ISA": isa} if isa else {})}
    return subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=SECONDS, env=environment, check=False)


def draw(seed, free):
    """Even seeds are float, odd ones have Q/DQ."""
    if free:
        return draw_free(seed)
    return generate(seed) if seed % 2 == 1 else generate_float(seed)


def wrong(what, done, statuses):
    if done.returncode in statuses:
        return []
    return [f"{what}: exit {done.returncode}: {(done.stderr or done.stdout)[-300:]}"]


def placed_once(picture):
    """Nodes of the picture that stand in no group of it, or in several."""
    members = collections.Counter(m for group in picture["groups"] for m in group["members"] if m >= 0)
    drawn = [i for i, node in enumerate(picture["nodes"]) if node]
    return [picture["nodes"][i]["name"] for i in drawn if members[i] != 1]


def look(model, file, folder):
    page = folder / "page.html"
    faults = wrong("view", octet("view", file, "--target", "onnxruntime,tensorrt-10", "-o", folder / "marks.html"), (0,))
    done = octet("view", file, "--draw-codes", "-o", page)
    if done.returncode != 0:
        return faults + wrong("view --draw-codes", done, (0,))
    picture = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])["pictures"][0]
    faults += [f"view: {name} is not in one group" for name in placed_once(picture)]
    shown = collections.Counter(node["op"] for node in picture["nodes"] if node)
    for op, count in collections.Counter(n.op_type for n in model.graph.node if n.op_type != "Constant").items():
        if shown[op] != count:
            faults.append(f"view: {count} nodes {op}, {shown[op]} are drawn")
    return faults


def changed_constant(model):
    """(name, model) with one number of a constant of numbers moved; nothing where there is none."""
    read = {name for n in model.graph.node for name in n.input}
    for i, tensor in enumerate(model.graph.initializer):
        if tensor.name in read and tensor.data_type in (TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8):
            array = onnx.numpy_helper.to_array(tensor).copy()
            if array.size < 4:
                continue
            with np.errstate(over="ignore"):
                array.reshape(-1)[array.size // 2] += 1
            other = onnx.ModelProto()
            other.CopyFrom(model)
            other.graph.initializer[i].CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
            return tensor.name, other
    return None


def still_runs(model, inputs):
    """In ONNX Runtime: a constant may be a scale by which sizes follow."""
    try:
        session(model).run(None, inputs)
    except Exception:  # whatever ONNX Runtime throws
        return False
    return True


def examples_are_apart(model, inputs):
    """Whether ONNX Runtime computes the same of one example at a time: nothing fixes the batch, and nothing is computed across it."""
    counts = {array.shape[0] if array.ndim else 0 for array in inputs.values()}
    if len(counts) != 1 or 0 in counts or any("DynamicQuantize" in n.op_type for n in model.graph.node):  # by one range for all examples
        return False
    try:
        made = session(model)
        together = made.run(None, inputs)
        parts = [made.run(None, {n: a[i:i + 1] for n, a in inputs.items()}) for i in range(*counts)]
    except Exception:  # whatever ONNX Runtime throws
        return False
    if any(output.type.tensor_type.elem_type in BELOW_BYTES for output in model.graph.output):
        return False  # examples are not apart in bytes
    for i, whole in enumerate(together):
        if not whole.ndim or any(not part[i].ndim or part[i].shape[0] != 1 or part[i].shape[1:] != whole.shape[1:] for part in parts):
            return False
        joined = np.concatenate([part[i] for part in parts])
        if joined.shape != whole.shape or not np.isfinite(whole.astype(np.float64)).all():
            return False
        gap = np.abs(joined.astype(np.float64) - whole.astype(np.float64))
        if gap.size and gap.mean() > 0.01 * np.abs(whole.astype(np.float64)).max():
            return False
    return True


def hold(model, file, folder, inputs):
    """lock and verify."""
    lock = folder / "a.lock.json"
    np.savez(folder / "in.npz", **inputs)
    done = octet("lock", file, "--inputs", folder / "in.npz", "-o", lock)
    if done.returncode != 0:
        return wrong("lock", done, (0,))
    faults = []
    runs = [((), ""), (("--threads", 3), ""), (("--threads", 1), "scalar")]
    if examples_are_apart(model, inputs):
        runs.append((("--batch", 1), ""))
    for words, isa in runs:
        faults += wrong(f"verify {' '.join(map(str, words))} {isa}", octet("verify", lock, *words, isa=isa), (0,))
    changed = changed_constant(model)
    if changed:
        name, other = changed
        onnx.save(other, folder / "other.onnx")
        done = octet("verify", lock, "--model", folder / "other.onnx")
        faults += wrong("verify of a changed constant", done, (1,) if still_runs(other, inputs) else (1, 2))
        if done.returncode == 1 and name not in done.stdout:
            faults.append(f"verify does not name the changed constant {name}: {done.stdout[:300]}")
    return faults


def spread(inputs):
    """The inputs, and others that reach the ends of what codes hold."""
    yield inputs
    for change in (lambda x: x * 30, lambda x: np.abs(x) * 20):
        with np.errstate(over="ignore"):
            yield {name: change(x).astype(x.dtype) if x.dtype.kind == "f" else x for name, x in inputs.items()}


def saturated(model, inputs):
    """An output that ONNX Runtime computes otherwise where its products are exact: on a processor without VNNI, where it saturates."""
    try:
        plain, exact = (session(model, exact_products=e, optimized=True, rewritten=False) for e in (False, True))
        for given in spread(inputs):
            for name, one, other in zip([o.name for o in plain.get_outputs()], plain.run(None, given), exact.run(None, given)):
                if isinstance(one, np.ndarray) and one.tobytes() != other.tobytes() and not np.array_equal(one, other, equal_nan=True):
                    return name
    except Exception:  # whatever ONNX Runtime throws
        return ""
    return ""


def certify(file, folder, model, inputs):
    done = octet("certify", file, "--json", "--certificate", folder / "c.json")
    if done.returncode == 2 and "at drawn sizes" in done.stderr and any(d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim):
        return []  # which do not fit each other
    faults = wrong("certify", done, (0, 1))
    if not faults:
        for what, text in (("certify --json", done.stdout), ("the certificate", (folder / "c.json").read_text())):
            try:
                json.loads(text)
            except ValueError as error:
                faults.append(f"{what}: no JSON: {error}: {text[:100]}")
        if done.returncode == 0 and (name := saturated(model, inputs)):
            faults.append(f"certify says that nothing saturates: \"{name}\" is another one in ONNX Runtime's exact mode")
    return faults


def judge_seed(seed, free, out):
    try:
        case = draw(seed, free)
    except Skipped as reason:
        return f"skipped: {str(reason)[:40]}", []
    with tempfile.TemporaryDirectory() as name:
        folder = out / str(seed) if out else pathlib.Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "model.onnx"
        onnx.save(case.model, file)
        try:
            return "run", look(case.model, file, folder) + hold(case.model, file, folder, case.sets[0]) + certify(file, folder, case.model, case.sets[0])
        except subprocess.TimeoutExpired as late:
            return "no end", [f"no end: {late.cmd[1]}"]


def main():
    parser = searched.parser(__doc__, GRAPHS)
    parser.add_argument("--free", action="store_true", help="graphs of any operators and types")
    options = parser.parse_args()
    seeds = searched.of(options)
    outcomes, found = collections.Counter(), Faults()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda seed: judge_seed(seed, options.free, options.out), seeds)
        for seed, (outcome, faults) in zip(seeds, results):
            outcomes[outcome] += 1
            found.add(seed, faults)
    print(f"{sum(outcomes.values())} graphs: {dict(outcomes)}")
    found.print()
    if outcomes["run"] < 0.8 * len(seeds):
        print("too few graphs were run to say anything")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
