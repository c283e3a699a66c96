# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the answers to one case. All outputs lie within bounds that the runner takes from the graph as it
stands (tests/differential/runner/bounds.h): as many codes off as a near tie before them explains, and not one more."""
import dataclasses
import re

import numpy as np

from .free.judge import MORE_RUNS, RUNS, Unstable, bounds
from .generate import session
from .runner import Died
from .spelled import graphs_of, is_of_qonnx

OPTIMIZED = "optimized by ONNX Runtime"
EXPORTS_ON_CODES = ("qoperator", "fused", "optimized")
# Files of QONNX run where they are lowered; the reference has no such operators.
LOWERED_ONLY = re.compile(r'Quant .*octet cannot run this operator \(domain "(onnx.brevitas|(qonnx|finn).custom_op.general)"\)')
# ONNX Runtime infers one window more than it computes for some pools with ceil_mode; whether its plan of the memory then
# fails depends on what stands around.
FAILED_PLAN = "attempting to re-use buffer"
# It leaves out a Cast that it put behind a DequantizeLinear of f16 itself, and then takes output_dtype for the type without it.
LOST_CAST = "(InsertedPrecisionFreeCast_"
# Pools whose window is larger than the padded plane: ONNX Runtime computes one (docs/differential.md). Indices into
# nothing: it does not look at them where nothing is taken. What a Loop collects of unlike shapes: it looks at their sizes alone.
LEFT_OPEN = ("and the kernel spans", "of size 0; use 0 to -1", "collected values have shapes")


@dataclasses.dataclass
class Finding:
    kind: str  # "lowered", "native", "qoperator in ONNX Runtime", "refused: ...", ...
    text: str

    def __str__(self):
        return f"{self.kind}: {self.text}"


@dataclasses.dataclass
class Verdict:
    findings: list
    unstable: str = ""  # why a free graph tells nothing
    refused: str = ""  # by ONNX Runtime, which leaves octet's own executors to be compared
    wide: float = 0  # share of the numbers that may be more than 2 % of the largest one off
    sharp: float = 1  # share of the codes (or what they stand for) that may not be a code off


def rounding_of(what):
    return "codes" if what.split(" ")[0] in EXPORTS_ON_CODES else "float"


def difference(got, value, error):
    """Words on what lies out of bounds, or nothing."""
    if tuple(got.shape) != tuple(value.shape):
        return f"shape {list(got.shape)}, expected {list(value.shape)}"
    if error is not None and not error.any() and value.dtype == got.dtype and np.array_equal(got, value):
        return ""  # integers beyond the digits of a double
    got = got.astype(np.float64)
    value = value.astype(np.float64)
    error = np.zeros_like(value) if error is None else error
    with np.errstate(invalid="ignore"):
        off = np.abs(got - value)
    bad = ~(off <= error * (1 + 1e-6) + 1e-9 * np.abs(value)) & ~((got == value) | (np.isnan(got) & np.isnan(value))) & np.isfinite(error)
    if not bad.any():
        return ""
    worst = np.unravel_index(np.nanargmax(np.where(bad, np.nan_to_num(off - error, nan=np.inf), -1)), off.shape)
    return (f"{int(bad.sum())} of {bad.size} elements, the worst at {[int(i) for i in worst]}: {got[worst]:.9g}, "
            f"expected {value[worst]:.9g} within {error[worst]:.3g}")


class Judge:
    def __init__(self, case, answers, runs=RUNS):
        self.runs = runs
        self.case, self.outputs, self.answers = case, answers["outputs"], answers
        self.verdict = Verdict([])

    def find(self, kind, text):
        self.verdict.findings.append(Finding(kind, text))

    def compare(self, what, outputs):
        """`outputs`: {(set, output): array}."""
        rounding = rounding_of(what)
        values = self.outputs[f"value {rounding}"]
        errors = self.outputs.get(f"error {rounding}", {})
        for place, value in values.items():
            if place not in outputs:
                self.find(what, f"output {place} is missing")
                return
            text = difference(outputs[place], value, errors.get(place))
            if text:
                self.find(what, f"inputs {place[0]}, output {place[1]}: {text}")
                return

    def onnxruntime(self, what, model):
        """Runs and compares; the reason where it refuses."""
        try:
            made = session(model, exact_products=rounding_of(what) == "codes", optimized=what == OPTIMIZED)
            outputs = {(i, k): y for i, x in enumerate(self.case.sets) for k, y in enumerate(made.run(None, x))}
        except Exception as error:  # whatever ONNX Runtime throws
            return str(error)
        if f"value {rounding_of(what)}" in self.outputs:
            self.compare(what, outputs)
        return ""

    def judge(self):
        v = self.verdict
        refusals = self.answers["refusals"]
        if self.case.free and any(words in text for text in refusals.values() for words in LEFT_OPEN):
            raise Unstable("a window larger than its plane, indices into nothing, or collected values of unlike shapes")
        if any(is_of_qonnx(n) for g in graphs_of(self.case.model.graph) for n in g.node):  # of bodies it infers no shapes then
            for what in [w for w in self.outputs if w.endswith("reference")]:
                del self.outputs[what]
        v.refused = self.onnxruntime("original in ONNX Runtime", self.case.model)
        for text in self.answers["findings"]:
            self.find("native", text)
        if self.case.free:
            self.bound_freely(v.refused)
        bounded = "value float" in self.outputs
        if not bounded and not self.case.free and "load" not in refusals:
            self.find("no bounds", refusals.get("bounds", ""))
        for what, outputs in self.outputs.items():
            if bounded and not what.startswith(("value ", "error ")) and f"value {rounding_of(what)}" in self.outputs:
                self.compare(what, outputs)
        if not v.refused:
            self.judge_refusals(refusals)
            for what, file in self.answers["files"].items():
                refused = self.onnxruntime(f"{what} in ONNX Runtime", file)
                if refused and FAILED_PLAN not in refused and LOST_CAST not in refused:
                    accepted = "" if f"check {what}" in refusals else " (check accepts it)"
                    self.find(f"{what} refused by ONNX Runtime", refused[:400] + accepted)
        if not self.case.free:
            self.measure_bounds()
        v.findings = essential(v.findings)
        return v

    def bound_freely(self, refused):
        """Bounds from ONNX Runtime; where it refuses, what the reference gives, which the others are held against."""
        for name in ("float", "codes"):
            for what in (f"value {name}", f"error {name}"):
                self.outputs.pop(what, None)
        if refused:
            return
        self.outputs["value float"], self.outputs["error float"] = bounds(self.case, self.runs)
        if not any(n.op_type == "DequantizeLinear" for n in self.case.model.graph.node):
            for what in ("value", "error"):
                self.outputs[f"{what} codes"] = self.outputs[f"{what} float"]

    def judge_optimized(self):
        """What ONNX Runtime computes with all of its optimizations and exact products: sums of codes are rounded to codes
        without floats between, as those of the forms on codes are."""
        before = len(self.verdict.findings)
        refused = self.onnxruntime(OPTIMIZED, self.case.model)
        if refused:
            self.find(OPTIMIZED, f"refused: {refused[:400]}")
        return self.verdict.findings[before:]

    def judge_refusals(self, refusals):
        for what, text in refusals.items():
            if not what.startswith("check ") and what != "bounds" and not LOWERED_ONLY.search(text):
                self.find(f"refused: {what}", text)

    def measure_bounds(self):
        elements = wide = coded = sharp = 0
        for place, value in self.outputs.get("value float", {}).items():
            error = self.outputs.get("error float", {}).get(place)
            value = value.astype(np.float64)
            error = np.zeros_like(value) if error is None else error
            elements += value.size
            wide += int((error > 0.02 * np.abs(value).max()).sum())
            levels = np.unique(value)
            step = np.diff(levels).min() if 1 < levels.size <= 256 else 0
            if step > 1e-5 * np.abs(levels).max():
                coded += value.size
                sharp += int((error < 0.9 * step).sum())
        self.verdict.wide = wide / max(elements, 1)
        self.verdict.sharp = sharp / coded if coded else 1


def essential(findings):
    """Without those that follow from another: what the reference refuses nobody runs, rewritten files are lowered as the original is, `fused` begins as
    `qoperator`, and a file that is wrong is wrong by every executor."""
    kinds = {f.kind for f in findings}
    if "refused: reference" in kinds:
        return [f for f in findings if not f.kind.startswith("refused: ") or f.kind == "refused: reference"]
    if "reference" in kinds:
        return [f for f in findings if f.kind in ("reference", "native")]
    lowers = not kinds & {"lowered", "native", "refused: native", "refused: lowered"}
    kept = []
    for finding in findings:
        form, _, executor = finding.kind.removeprefix("refused: ").partition(" ")
        refused = "refused: " if finding.kind.startswith("refused: ") else ""
        follows = [f"{refused}qoperator {executor}".rstrip()] if form == "fused" else []
        if executor == "natively" or form == "literal":
            if not lowers:
                continue
        if executor in ("natively", "in ONNX Runtime"):
            follows.append(f"{refused}{form} by the reference")
        if executor == "natively":
            follows.append(f"{refused}{form} in ONNX Runtime")
        if finding.kind == "original in ONNX Runtime" and "reference" in kinds:
            follows.append("reference")
        if not kinds & set(follows):
            kept.append(finding)
    return kept


def judge(case, runner, optimized=False):
    """`optimized`: with what ONNX Runtime's optimizations make of the model, too."""
    try:
        answers = runner.ask(case)
    except Died as death:
        return Verdict([Finding("the runner died", str(death))])
    try:
        verdict = Judge(case, answers).judge()
        if optimized and not verdict.refused:
            verdict.findings += Judge(case, answers).judge_optimized()
        return Judge(case, answers, MORE_RUNS).judge() if case.free and verdict.findings else verdict
    except Unstable as reason:
        return Verdict([], unstable=str(reason))
