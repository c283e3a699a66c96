# SPDX-License-Identifier: Apache-2.0
"""Reports of eval, debug, optimize and train in a browser: nothing is cut off at two widths, light and dark can be read, paper too."""
import itertools
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(os.environ["OCTET_SOURCE_DIR"]) / "tests" / "support"))
from browser import print_page, run_page  # noqa: E402
from octet_command import octet  # noqa: E402

# What lies outside its drawing, what is wider than the page, and how much text differs from what is behind it (WCAG 2, contrast ratio).
LOOK = """
const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map((x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
const body = getComputedStyle(document.body), outside = [];
for (const svg of document.querySelectorAll('svg')) {
  const box = svg.viewBox.baseVal;
  for (const text of svg.querySelectorAll('text')) {
    if (text.hasAttribute('transform')) continue;
    const t = text.getBBox();
    if (t.x < box.x - 1 || t.x + t.width > box.x + box.width + 1 || t.y + t.height > box.y + box.height + 1) outside.push(text.textContent);
  }
}
const tables = [...document.querySelectorAll('table')];
return {page: document.documentElement.scrollWidth, room: innerWidth, outside, tables: tables.length,
        cut: tables.filter((t) => t.scrollWidth > t.parentElement.clientWidth + 1).map((t) => t.querySelector('tr').textContent),
        hidden: tables.filter((t) => t.scrollWidth > t.parentElement.clientWidth + 1 && getComputedStyle(t.parentElement).overflowX !== 'auto').length,
        contrast: Math.min(...[...document.querySelectorAll('p,th,td,figcaption,h2,svg text')].map((e) => {
          const s = getComputedStyle(e); return contrast(light(e instanceof SVGElement ? s.fill : s.color), light(body.backgroundColor)); })),
        text: document.body.innerText};
"""
problems = []


def check(what, holds, said=""):
    if not holds:
        problems.append(f"{what}: {said}")


def look_at(page, *words):
    for width, dark in itertools.product((1400, 800), (False, True)):
        what = f"{page.name}, {width} wide, {'dark' if dark else 'light'}"
        seen, bad = run_page(page, LOOK, width=width, dark=dark)
        check(what, not bad, bad)
        if seen is None:
            continue
        check(f"{what}: wider than the window", seen["page"] <= seen["room"], seen)
        check(f"{what}: text outside of its picture", not seen["outside"], seen["outside"])
        check(f"{what}: a table that cannot be scrolled", seen["hidden"] == 0, seen["cut"])
        check(f"{what}: a table that is cut off", width < 1400 or not seen["cut"], seen["cut"])
        check(f"{what}: hard to read", seen["contrast"] >= 4.5, seen["contrast"])
        for word in words:
            check(f"{what}: \"{word}\" is missing", word in seen["text"], seen["text"][:2000])
    check(f"{page.name}: nothing on paper", print_page(page).startswith(b"%PDF"))


def main(folder):
    data = ("--data", "generated")
    model, codes, rough = folder / "cnn.onnx", folder / "a-model-with-quite-a-long-name.int8.onnx", folder / "int3.onnx"
    octet("train", "cnn", *data, "--epochs", "3", "--report", folder / "train.html", "-o", model)
    octet("quantize", model, *data, "-o", codes)
    octet("quantize", model, *data, "--weight-bits", "3", "-o", rough)
    octet("eval", model, codes, rough, *data, "--report", folder / "eval.html")
    octet("debug", model, rough, *data, "--limit", "64", "--report", folder / "debug.html")
    octet("optimize", model, *data, "--max-drop", "5", "--budget", "5s", "--report", folder / "optimize.html", "-o", folder / "best.onnx")
    version = octet("--version").split()[1]
    everywhere = (f"octet {version}", "thread", " UTC")
    look_at(folder / "train.html", "Epochs", "Recipe", "learning rate", "octet train cnn --data generated", *everywhere)
    look_at(folder / "eval.html", "Examples that changed", "takes for what", "expected calibration error", "octet eval", *everywhere)
    look_at(folder / "debug.html", "octet debug", *everywhere)
    look_at(folder / "optimize.html", "octet optimize", *everywhere)


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
print("\n".join(problems))
sys.exit(bool(problems))
