# SPDX-License-Identifier: Apache-2.0
"""The command tools/algorithms (see --help). This process uses the standard library alone: the memory of a child counts
from that of the process that started it."""
import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys

import table
from cells import Kept, child, last_json, slug, why
from networks import NETWORKS, made
from rows import ROWS

HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass
class Data:
    images: str
    texts: str


def judged(file, examples, options):
    marks = file.with_suffix(".right")
    done = child([sys.executable, HERE / "judge.py", file, examples / "test.npz", marks], options)
    if done["exit"] != 0:
        return {"failed": f"onnxruntime, {why(done, options)}"}
    return {"right": marks.read_bytes().hex(), "note": last_json(done["said"]).get("note", ""), "size_kb": file.stat().st_size / 1000}


def quantized(command, file, examples, options):
    """One cell: what making the file took, and its answers."""
    done = child(command, options)
    cell = {k: done[k] for k in ("cpu_s", "wall_s", "peak_mb")} | last_json(done["said"])
    if done["exit"] != 0 or not file.exists():
        return cell | {"failed": why(done, options)}
    return cell | judged(file, examples, options)


def examples_of(name, model, options):
    network = NETWORKS[name]
    folder = options.out / "examples" / (name if network.kind == "texts" else network.kind)
    if not (folder / "calibration.npz").exists():
        words = [network.kind, options.fashion_mnist if network.kind == "images" else options.imdb, folder]
        if network.kind == "texts":
            words += [model.parent, str(network.tokens)]  # with its tokenizer.json
        subprocess.run([sys.executable, HERE / "examples.py", *words], check=True)
    return folder


def make_row(row, name, kept, options):
    model = made(name, options.octet, options.out / "networks", Data(options.fashion_mnist, options.imdb)).resolve()
    examples = examples_of(name, model, options)
    folder = options.out / "files" / name
    folder.mkdir(parents=True, exist_ok=True)
    kept.get(f"{name}/float", lambda: judged_float(model, examples, folder, options))
    calibration = examples / "calibration.npz"

    def octet():
        file = folder / f"{slug(row.name)}-octet.onnx"
        data = [] if "weight-only" in row.octet or "dynamic" in row.octet else ["--data", f"npz:{calibration}"]
        masked = NETWORKS[name].octet if data else tuple(w for w in NETWORKS[name].octet if w not in ("--mask-input", "attention_mask"))
        return quantized([options.octet, "quantize", model, *data, "--target", "onnxruntime", "--threads", 1, *masked, *row.octet.split(),
                          "--force", "-o", file], file, examples, options)
    kept.get(f"{name}/{row.name}/octet", octet)
    picked = chosen(options.peers, [label for label, _, _ in row.peers])
    for label, function, settings in row.peers:
        if label not in picked:
            continue
        file = folder / f"{function}-{'-'.join(map(str, settings.values()))}.onnx"
        # The same function with the same settings stands in several rows.
        kept.get(f"{name}/{function} {json.dumps(settings)}",
                 lambda f=file, g=function, s=settings: quantized([sys.executable, HERE / "peers.py", g, model, calibration, f, json.dumps(s)],
                                                                  f, examples, options))


def judged_float(model, examples, folder, options):
    copy = folder / "float.onnx"
    copy.write_bytes(model.read_bytes())
    return judged(copy, examples, options)


def arguments():
    parser = argparse.ArgumentParser(
        prog="tools/algorithms", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Every algorithm of octet quantize beside the same one of others, on the same calibration examples, judged by ONNX Runtime "
                    "on the same test examples. Prints the table as Markdown and writes OUT/algorithms.json; cells that are there are kept.",
        epilog="Example:\n  tools/algorithms --fashion-mnist DIR --imdb DIR --networks cnn,depthwise --rows \"min-max;adaround\"\n\n"
               f"rows: {'; '.join(row.name for row in ROWS)}\nnetworks: {', '.join(NETWORKS)}")
    parser.add_argument("--fashion-mnist", required=True, metavar="DIR", help="the four files of Fashion-MNIST")
    parser.add_argument("--imdb", metavar="DIR", help="train.tsv.gz and test.tsv.gz; for the BERTs")
    parser.add_argument("--networks", default="cnn,depthwise", metavar="NAME,...", help="cnn,depthwise unless said otherwise")
    parser.add_argument("--rows", default="", metavar="WORD;...", help="only the row of this name, else those whose name holds it")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/algorithms"), metavar="DIR", help="for networks, files and the table")
    parser.add_argument("--octet", default="build/release/bin/octet", metavar="FILE")
    parser.add_argument("--peers", default="", metavar="WORD;...", help="only these of others, named alike; none: no others")
    parser.add_argument("--print", action="store_true", help="make nothing: the table of what is there")
    parser.add_argument("--timeout", type=int, default=900, metavar="SECONDS", help="of one process (900)")
    parser.add_argument("--memory", type=int, default=12, metavar="GIB", help="that a process may allocate (12)")
    return parser.parse_args()


def chosen(words, names):
    """Those that a word names, or that hold it where it names none; without words all."""
    words = [word for word in words.split(";") if word]
    return {name for name in names if not words or any(name == word or (word not in names and word in name) for word in words)}


def main():
    options = arguments()
    kept = Kept(options.out / "cells")
    names = options.networks.split(",")
    for name in names:
        if name not in NETWORKS:
            sys.exit(f"algorithms: no network {name}; networks: {', '.join(NETWORKS)}")
        if NETWORKS[name].kind == "texts" and not options.imdb and not options.print:
            sys.exit(f"algorithms: {name} wants --imdb DIR")
    picked = chosen(options.rows, [row.name for row in ROWS])
    rows = [row for row in ROWS if row.name in picked]
    if not rows:
        sys.exit(f"algorithms: no row holds {options.rows}; rows: {'; '.join(row.name for row in ROWS)}")
    for name in names:
        for row in rows:
            if name in row.networks and not options.print:
                make_row(row, name, kept, options)
    cells = kept.cells()
    (options.out / "algorithms.json").write_text(json.dumps(cells, indent=1))
    print(table.text(rows, names, cells))


main()
