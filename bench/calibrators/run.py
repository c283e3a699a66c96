# SPDX-License-Identifier: Apache-2.0
"""The command tools/calibrators (see --help)."""
import argparse
import json
import math
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "algorithms"), str(HERE.parent)]
from cells import Kept, child, last_json, slug, why  # pylint: disable=wrong-import-position

CALIBRATORS = ("auto", "min-max", "percentile", "entropy", "mse")
# A target's files are judged where they run; TensorRT's as the file says, that is by ONNX Runtime without optimizations.
TARGETS = {"octet": "octet", "onnxruntime": "onnxruntime", "tensorrt-10": "unoptimized"}


def ort(method, symmetric):
    return (f"ONNX Runtime {method}", "onnxruntime_static", {"method": method} | ({"symmetric": True} if symmetric else {}))


def nncf(name, **settings):
    return (f"NNCF {name}", "nncf_quantize", settings)


NNCF = [nncf("defaults"), nncf("min-max", ranges="MINMAX", correct=None), nncf("histogram", ranges="HISTOGRAM", correct=None),
        nncf("quantiles", ranges="MEAN_QUANTILE", correct=None)]
METHODS = ("MinMax", "Entropy", "Percentile")
OTHERS = {target: [ort(method, target == "tensorrt-10") for method in METHODS] + NNCF for target in TARGETS}


def our_key(path, target, calibrator):
    return f"{name_of(path)}/{target}/{calibrator}"


def their_runtime(target):
    """Where files of others are judged beside octet's for a target."""
    return "unoptimized" if TARGETS[target] == "unoptimized" else "onnxruntime"


def their_key(path, target, label, settings):
    """Two targets share what is judged in one runtime."""
    return f"{name_of(path)}/{their_runtime(target)}/{label} {json.dumps(settings)}"


def models(site):
    """Those of packages and of OCTET_DATA that hold trained weights and no codes."""
    from models_onnxruntime import PACKAGES  # pylint: disable=import-outside-toplevel
    files = [file for name in PACKAGES for file in sorted((site / name).rglob("*.onnx"))]
    if os.environ.get("OCTET_DATA"):
        folder = pathlib.Path(os.environ["OCTET_DATA"]) / "models"
        files += sorted(file for name in ("magika-fast", "ultraface") for file in (folder / name).glob("*.onnx"))
        files.append(folder / "qonnx-espcn" / "float.onnx")
    return files


def name_of(path):
    return path.parent.name if path.stem in ("model", "float") else f"{path.parent.name}/{path.stem}"


def examples_of(path, options):
    folder = options.out / "examples" / slug(name_of(path))
    if not (folder / "float.onnx").exists():
        done = child([sys.executable, HERE / "inputs.py", path, options.site, folder], options)
        if done["exit"] != 0:
            sys.exit(f"calibrators: {path}: {why(done, options)}")
    return folder


def constants(examples):
    """What octet is told of inputs that are no example's."""
    file = examples / "each.npz"
    if not file.exists():
        return []
    import numpy  # pylint: disable=import-outside-toplevel
    words = []
    with numpy.load(file) as each:
        for name, value in each.items():
            words += ["--zeros", name] if value.shape else ["--drop-input", f"{name}={value}"]
    return words


def judged(done, path, file, examples, runtime, options):
    if done["exit"] != 0 or not file.exists():
        return {"failed": why(done, options)}
    seen = child([sys.executable, HERE / "difference.py", path, file, examples, runtime], options)
    return last_json(seen["said"]) if seen["exit"] == 0 else {"failed": f"{runtime}, {why(seen, options)}"}


def make(path, kept, options):
    examples = examples_of(path, options)
    folder, fixed = options.out / "files" / slug(name_of(path)), constants(examples)
    folder.mkdir(parents=True, exist_ok=True)
    for target, runtime in TARGETS.items():
        place = str(options.octet) if runtime == "octet" else runtime
        for calibrator in CALIBRATORS:
            def ours(file=folder / f"{target}-{calibrator}.onnx", words=("--target", target, "--calibrator", calibrator), where=place):
                file.unlink(missing_ok=True)
                done = child([options.octet, "quantize", path, "--data", f"npz:{examples / 'calibration.npz'}", *words, *fixed,
                              "--threads", 1, "-o", file], options)
                warned = [line for line in done["said"].splitlines() if "dB" in line and "warning" in line]
                return judged(done, path, file, examples, where, options) | {"warned": " ".join(warned)}
            kept.get(our_key(path, target, calibrator), ours)
        for label, function, settings in OTHERS[target] if options.others else []:
            def theirs(file=folder / f"{slug(label)}-{slug(json.dumps(settings))}.onnx", words=(function, json.dumps(settings)),
                       runtime=their_runtime(target)):
                done = {"exit": 0}
                if not file.exists():  # two targets judge one file
                    done = child([sys.executable, HERE.parent / "algorithms" / "peers.py", words[0], examples / "float.onnx",
                                  examples / "calibration.npz", file, words[1]], options)
                return judged(done, path, file, examples, runtime, options)
            kept.get(their_key(path, target, label, settings), theirs)


def decibels(cell, every=slice(None)):
    """Power over error of the float outputs over these examples; of several outputs the mean of error over power. None: there is
    no file, or it holds no codes."""
    if not cell or not cell.get("coded"):
        return None
    sums = [[sum(one) for one in zip(*cell[kind][every])] for kind in ("errors", "powers")]
    parts = [error / power for error, power in zip(*sums) if power > 0]
    mean = sum(parts) / len(parts)
    return 200.0 if mean == 0 else -200.0 if math.isnan(mean) else max(-200.0, -10 * math.log10(mean))


def best(cells, every=slice(None)):
    """(decibels, name) of the best, or None."""
    seen = [(value, name) for name, cell in cells.items() if (value := decibels(cell, every)) is not None]
    return max(seen, default=None)


def lead(auto, others):
    """How far `auto` is before the best of the others. Which is the best is asked of every second example, and how far of those
    between: the best of many on the same examples is before all of them by chance."""
    gaps = []
    for asked, judged_by in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        found = best(others, asked)
        if found is None or decibels(auto) is None:
            return math.nan
        gaps.append(decibels(auto, judged_by) - decibels(others[found[1]], judged_by))
    return sum(gaps) / 2


def row(path, target, cells):
    """Decibels of one model and target, and how many the default lies before the best of the others."""
    ours = {calibrator: cells.get(our_key(path, target, calibrator)) for calibrator in CALIBRATORS}
    theirs = {label: cells.get(their_key(path, target, label, settings)) for label, _, settings in OTHERS[target]}
    parts = [best({k: v for k, v in theirs.items() if k.startswith(word)}) for word in ("ONNX Runtime", "NNCF")]
    auto = ours["auto"]
    gap = lead(auto, theirs | {k: v for k, v in ours.items() if k != "auto"})
    words = [f"{found[0]:.1f} ({found[1].split(' ')[-1]})" if found else "-" for found in parts]
    texts = ["-" if cell is None or decibels(cell) is None else f"{decibels(cell):.1f}" for cell in ours.values()]
    told = "yes" if auto and auto.get("warned") else ""
    return [name_of(path), target, *texts, *words, "" if math.isnan(gap) else f"{gap:+.1f}", told], gap, auto


def report(files, cells, options):
    print("| model | target | auto | min-max | percentile | entropy | mse | ONNX Runtime's best | NNCF's best | auto to the best | warned |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|")
    gaps, silent = [], []
    for path in files:
        for target in TARGETS:
            words, gap, auto = row(path, target, cells)
            print(f"| {' | '.join(words)} |")
            if not math.isnan(gap):
                gaps.append((gap, f"{words[0]} for {target}"))
            if (decibels(auto) or 200) < 10 and not auto.get("warned"):
                silent.append(f"{words[0]} for {target}, {decibels(auto):.1f} dB")
    behind = sorted((gap, name) for gap, name in gaps if gap < -options.level)
    print(f"\n{len(gaps)} files by `auto`; {sum(abs(gap) <= options.level for gap, _ in gaps)} within {options.level:g} dB of the best of all others, "
          f"{sum(gap > options.level for gap, _ in gaps)} above, {len(behind)} below" +
          ("" if not behind else ": " + "; ".join(f"{name} {gap:+.1f}" for gap, name in behind)))
    print(f"below 10 dB without a warning: {'; '.join(silent) or 'none'}")
    failed = {}
    for key, cell in cells.items():
        if "failed" in cell:
            failed.setdefault(key.split("/")[-1].split(" {")[0], []).append((key.rsplit("/", 2)[0], cell["failed"]))
    for who, cases in sorted(failed.items()):
        print(f"failed: {who}, {len(cases)} files; {cases[0][0]}: {cases[0][1]}")


def arguments():
    parser = argparse.ArgumentParser(
        prog="tools/calibrators", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="octet quantize with its default and with each calibrator, for three targets, beside ONNX Runtime's quantizer and NNCF: decibels "
                    "of the outputs on 16 to 128 examples that none of them saw, 64 others for calibration. Without files: models of packages that carry "
                    "trained ONNX models, and of OCTET_DATA. Cells that are there are kept.",
        epilog="Example:\n  tools/calibrators\n  tools/calibrators --out out/mine mine.onnx")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.onnx")
    parser.add_argument("--site", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/calibrators"), metavar="DIR", help="for examples, files and cells")
    parser.add_argument("--octet", type=pathlib.Path, default=pathlib.Path("build/release/bin/octet"), metavar="FILE")
    parser.add_argument("--no-others", dest="others", action="store_false", help="octet alone")
    parser.add_argument("--print", action="store_true", help="make nothing: the table of what is there")
    parser.add_argument("--level", type=float, default=1.0, metavar="DB", help="what counts as level (1)")
    parser.add_argument("--timeout", type=int, default=900, metavar="SECONDS", help="of one process (900)")
    parser.add_argument("--memory", type=int, default=12, metavar="GIB", help="that a process may allocate (12)")
    return parser.parse_args()


def main():
    options = arguments()
    options.octet = options.octet.resolve()
    kept = Kept(options.out / "cells")
    files = options.files or models(options.site)
    for path in files:
        if not options.print:
            make(path, kept, options)
    report(files, kept.cells(), options)


main()
