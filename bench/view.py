# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench view
"""How long octet view takes to write the page of a large graph, and headless Chromium to open it: until all is parsed, placed and
drawn, by the page's own clock.

usage: tools/setup-peers --run bench/view.py [--nodes 10000] [--runs 5] [MODEL.onnx]
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from onnx import TensorProto, helper, save

OCTET = pathlib.Path(os.environ.get("OCTET_BUILD_DIR", "build/release")) / "bin" / "octet"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def network(path, count, named):
    """Residual blocks of eight nodes; named as exporters name modules, or by numbers alone."""
    nodes, at = [], "x"
    for i in range(count // 8):
        start = at
        for j, op in enumerate(("Relu", "Neg", "Tanh", "Sigmoid", "Abs", "Sqrt", "Exp")):
            name = f"/stage.{i // 100}/block.{i % 100}/{op}" if named else f"{op}_{8 * i + j}"
            nodes.append(helper.make_node(op, [at], [f"v{i}_{j}"], name=name))
            at = f"v{i}_{j}"
        nodes.append(helper.make_node("Add", [at, start], [f"s{i}"], name=f"/stage.{i // 100}/block.{i % 100}/Add" if named else f"Add_{8 * i + 7}"))
        at = f"s{i}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "large", [value("x", TensorProto.FLOAT, ["N", 64])], [value(at, TensorProto.FLOAT, ["N", 64])])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def opened(page):
    text = page.read_text(encoding="utf-8")
    nonce = re.search(r"'nonce-([0-9a-f]+)'", text)[1]
    probe = (f'<script nonce="{nonce}">document.body.getBoundingClientRect();document.querySelectorAll(".box text").forEach(t=>t.getBBox());'
             'document.body.append(Object.assign(document.createElement("pre"),{id:"ms",textContent:String(performance.now())}))</script>')
    probed = page.with_suffix(".probe.html")
    probed.write_text(text.replace("</body></html>", probe + "</body></html>"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--window-size=1400,900",
                               "--dump-dom", f"file://{probed}"], capture_output=True, text=True, timeout=120, check=True)
    return float(re.search(r'id="ms">([0-9.]+)<', done.stdout)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("bench/view.py: chromium is missing; install it")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models = list(args.models)
        if not models:
            for kind in ("named", "numbered"):
                models.append(folder / f"{kind}.onnx")
                network(models[-1], args.nodes, kind == "named")
        for i, model in enumerate(models):
            page = folder / f"{i}.html"
            begin = time.monotonic()
            done = subprocess.run([OCTET, "view", model, "-o", page], capture_output=True, text=True, check=True)
            written = time.monotonic() - begin
            times = sorted(opened(page) for _ in range(args.runs))
            print(f"{done.stdout.splitlines()[0]}; written in {written:.2f} s, {page.stat().st_size / 1e6:.2f} MB; "
                  f"open after {times[len(times) // 2]:.0f} ms (median of {len(times)}, {times[0]:.0f} to {times[-1]:.0f})")


if __name__ == "__main__":
    main()
