# SPDX-License-Identifier: Apache-2.0
"""Random Q/DQ graphs as exporters write them through `octet check --target onnxruntime` (docs/differential.md): what it accepts, ONNX
Runtime loads with all of its optimizations, and computes what it computes without them."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import onnx
from fuzzing.command import octet, search
from fuzzing.free.coded import generate as draw_coded
from fuzzing.generate import generate, session
from fuzzing.halves import generate as draw_halves
from fuzzing.runner import Runner
from fuzzing.verdict import OPTIMIZED
from fuzzing.verdict import judge as judge_case
from quantize_command import holds_exactly

GRAPHS = 150
LEAST = {"accepted": 0.3, "refused": 0.1}
runner = None  # of a worker process


def has_unsigned_zeros(model):
    """FP8 of the kinds without a negative 0, which Transposes are moved to that no kernel takes."""
    rare = {onnx.TensorProto.FLOAT8E4M3FNUZ, onnx.TensorProto.FLOAT8E5M2FNUZ}
    return any(tensor.data_type in rare for tensor in model.graph.initializer)


def loads_by_default(model):
    try:
        session(model, optimized=True, rewritten=False)
    except Exception:  # whatever ONNX Runtime throws
        return False
    return True


def judge(trial):
    case = (generate, draw_halves, draw_coded)[trial.seed % 3](trial.seed)
    path = trial.folder / "model.onnx"
    onnx.save(case.model, path)
    done = octet("check", path, "--target", "onnxruntime", "--json")
    if done.returncode:
        trial.tried["refused"] += 1
        return
    found = json.loads(done.stdout)["findings"]
    if has_unsigned_zeros(case.model) or not holds_exactly(path, found):
        trial.tried["not compared"] += 1
        return
    trial.tried["accepted"] += 1
    for fault in judge_case(case, runner, optimized=True).findings:
        if fault.kind != OPTIMIZED:
            continue
        if "refused: " in fault.text and loads_by_default(case.model):
            trial.tried["refused in the exact mode alone"] += 1
        else:
            trial.check("accepted", False, f"{str(fault)[:300]}; warnings {[f['rule'] for f in found]}")


def start_worker():
    global runner
    runner = Runner(seconds=60)


if __name__ == "__main__":
    sys.exit(search(__doc__, judge, GRAPHS, start_worker, LEAST))
