# SPDX-License-Identifier: Apache-2.0
"""Hashes of what octet writes and says today, so that a change of its insides shows what it changes outside.

usage: tools/fingerprints TABLE [--against TABLE] [--only WORD] [--models PATH...] [--jobs N]

The models are those of shared/data and ONNX' tests of operators on codes. The demos' and tools/interop's may be added
by --models: what training writes depends on the machine, so both runs want the same files.
Files are compared by their bytes, outputs of `run` as arrays, check and explain by what they print, errors by their text.
Calibration data and inputs are random numbers of a fixed seed.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
OCTET = str(pathlib.Path(os.environ.get("OCTET_BUILD_DIR", ROOT / "build/release")) / "bin/octet")
DATA = pathlib.Path(os.environ.get("OCTET_DATA", ROOT.parent / "shared/data"))
TARGETS = ["octet", "onnxruntime", "tensorrt-8.6", "tensorrt-10", "tensorrt-11"]
CODED_OPERATORS = ("quant", "qlinear", "integer")
CODED_TESTS = (*CODED_OPERATORS, "int8")
SECONDS = 600
OPEN_SIZE = 16  # of an axis that is neither fixed nor the first


def inputs_of(model, examples):
    """Random arrays for each input, by name; None where one is no tensor of numbers."""
    random = np.random.default_rng(1)
    known = {t.name for t in model.graph.initializer}
    out = {}
    for value in model.graph.input:
        if value.name in known:
            continue
        tensor = value.type.tensor_type
        if not tensor.elem_type or tensor.elem_type == onnx.TensorProto.STRING:
            return None
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        shape = [d.dim_value if d.dim_value > 0 else OPEN_SIZE if axis else examples for axis, d in enumerate(tensor.shape.dim)]
        numbers = random.standard_normal(shape)
        if dtype.kind in "iu":
            numbers = random.integers(0, 5, shape)
        out[value.name] = (numbers > 0 if dtype.kind == "b" else numbers).astype(dtype)
    return out


def digest(*parts):
    sums = hashlib.sha256()
    for part in parts:
        sums.update(len(part).to_bytes(8, "little"))
        sums.update(part)
    return sums.hexdigest()[:16]


class Model:
    """Runs commands on one model in a folder of its own, where every path is relative."""

    def __init__(self, name, path, folder):
        self.name, self.folder, self.rows = name, pathlib.Path(folder), []
        (self.folder / "model.onnx").symlink_to(path)
        for beside in path.parent.iterdir():  # external data
            if beside.is_file() and beside.name not in ("model.onnx", path.name):
                (self.folder / beside.name).symlink_to(beside)
        model = onnx.load(path, load_external_data=False)
        inputs = inputs_of(model, 2)
        if inputs is not None:
            np.savez(self.folder / "inputs.npz", **inputs)
        self.coded = any(word in node.op_type.lower() for node in model.graph.node for word in CODED_OPERATORS)
        self.data = inputs is not None

    def call(self, *arguments, wrote=(), says=False):
        """Notes the exit status with a hash of what it wrote, of what it printed where that is asked for, and of its error.

        Returns whether it exited 0.
        """
        try:
            done = subprocess.run([OCTET, *arguments], cwd=self.folder, capture_output=True, timeout=SECONDS)
            status, parts = done.returncode, [done.stdout if says else b""]
            if status != 0:
                parts.append(done.stderr)
        except subprocess.TimeoutExpired:
            status, parts = "late", []
        for name in wrote:
            path = self.folder / name
            if not path.exists():
                parts.append(b"")
            elif name.endswith(".npz"):
                arrays = np.load(path)
                parts += [k.encode() + str(arrays[k].dtype).encode() + arrays[k].tobytes() for k in sorted(arrays.files)]
            else:
                parts.append(path.read_bytes())
        self.rows.append((self.name, " ".join(arguments), str(status), digest(*parts)))
        return status == 0

    def judge(self, file, target):
        self.call("check", file, "--target", target, "--json", says=True)
        self.call("explain", file, "--target", target, "--json", says=True)

    def run(self, file):
        if self.data:
            self.call("run", file, "--inputs", "inputs.npz", "-o", f"{file}.npz", wrote=[f"{file}.npz"])

    def repair(self, file, target):
        mended = f"{file}.{target}.repaired.onnx"
        self.call("repair", file, "--target", target, "-o", mended, wrote=[mended])
        if (self.folder / mended).exists():
            self.run(mended)

    def quantize(self, kind, *options):
        made = f"{kind}.onnx"
        return made if self.call("quantize", "model.onnx", *options, "--save-plan", f"{kind}.json", "-o", made,
                                 wrote=[made, f"{kind}.json"]) else None

    def all(self):
        self.run("model.onnx")
        if self.call("simplify", "model.onnx", "-o", "simple.onnx", wrote=["simple.onnx"]):
            self.run("simple.onnx")
        for target in TARGETS:
            self.judge("model.onnx", target)
        if self.coded:
            for target in TARGETS[1:]:
                self.repair("model.onnx", target)
            for form in ("qoperator", "fused", "qcdq"):
                self.call("export", "model.onnx", "--target", "onnxruntime", "--form", form, "-o", f"{form}.onnx",
                          wrote=[f"{form}.onnx"])
            return
        for mode in ("dynamic", "weight-only"):
            if made := self.quantize(mode, "--mode", mode):
                self.run(made)
        if not self.data:
            return
        calibrated = ("--data", "npz:inputs.npz", "--batch", "1")
        for target in TARGETS:
            if made := self.quantize(target, *calibrated, "--target", target):
                self.judge(made, target)
                self.run(made)
                self.repair(made, "tensorrt-10" if target == "onnxruntime" else "onnxruntime")
        self.quantize("entropy", *calibrated, "--calibrator", "entropy")
        self.quantize("qoperator", *calibrated, "--target", "onnxruntime", "--form", "qoperator")


def backend_models(folder):
    """ONNX' own tests of operators on codes."""
    for archive in (DATA / "onnx-backend").glob("*.tar.zst"):
        with subprocess.Popen(["zstd", "-dcq", archive], stdout=subprocess.PIPE) as unpacked:
            with tarfile.open(fileobj=unpacked.stdout, mode="r|") as tar:
                for member in tar:
                    path = pathlib.PurePosixPath(member.name)
                    if path.name == "model.onnx" and any(word in path.parent.name for word in CODED_TESTS):
                        tar.extract(member, folder, filter="data")
    return sorted(pathlib.Path(folder).rglob("model.onnx"))


def fingerprint(job):
    name, path = job
    with tempfile.TemporaryDirectory() as folder:
        model = Model(name, path, folder)
        model.all()
        return model.rows


def compare(rows, old_path):
    old = {tuple(line.split("\t")[:2]): line.split("\t")[2:] for line in old_path.read_text().splitlines()}
    new = {(name, command): [status, found] for name, command, status, found in rows}
    changed = 0
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            changed += 1
            print("\t".join(key), *("-" if side is None else " ".join(side) for side in (old.get(key), new.get(key))), sep="\t")
    print(f"{changed} of {len(new)} answers changed", file=sys.stderr)
    return 1 if changed else 0


def main():
    about, epilog = __doc__.split("usage: ")[0], __doc__.split("\n\n", 2)[2]
    parser = argparse.ArgumentParser("tools/fingerprints", description=about, epilog=epilog,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path, help="file to write: model, command, exit status, hash a line")
    parser.add_argument("--against", type=pathlib.Path, metavar="TABLE", help="print what differs; exit 1 where something does")
    parser.add_argument("--only", default="", metavar="WORD", help="models whose name holds it")
    parser.add_argument("--models", type=pathlib.Path, nargs="+", default=[], metavar="PATH", help="ONNX files or folders of them, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="models at a time")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(str(path.relative_to(DATA)), path) for path in sorted((DATA / "models").rglob("*.onnx"))]
        jobs += [(path.parent.name, path) for path in backend_models(folder)]
        for given in options.models:
            found = sorted(given.rglob("*.onnx")) if given.is_dir() else [given]
            jobs += [(str(path), path.resolve()) for path in found]
        jobs = [job for job in jobs if options.only in job[0]]
        if not jobs:
            sys.exit(f"fingerprints: no model in {DATA} or --models whose name holds \"{options.only}\"; OCTET_DATA names the folder")
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            for count, made in enumerate(pool.map(fingerprint, jobs), 1):
                rows += made
                print(f"\r{count} of {len(jobs)} models", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    part = options.table.with_suffix(".part")
    part.write_text("".join("\t".join(row) + "\n" for row in rows))
    part.replace(options.table)
    return compare(rows, options.against) if options.against else 0


if __name__ == "__main__":
    sys.exit(main())
