# SPDX-License-Identifier: Apache-2.0
"""Random graphs of fixed seeds in every executor, every form, and ONNX Runtime: nothing differs but by ties of rounding,
and nearly all numbers are bounded as narrowly as one code (docs/differential.md)."""
import sys

from fuzzing import main

GRAPHS = 3000

tally = main.search(main.parse(["--graphs", str(GRAPHS), "--seed", "1", "--jobs", "2"]))
print(tally.report())
run = tally.graphs - sum(tally.skipped.values())
problems = []
if tally.seeds:
    problems.append("findings; reduced by: tools/differential --out found --seeds "
                    + " ".join(str(min(seeds)[1]) for seeds in tally.seeds.values()))
if run < 0.95 * GRAPHS:
    problems.append(f"only {run} of {GRAPHS} graphs were run")
if sum(tally.refused.values()) > 0.02 * GRAPHS:
    problems.append(f"ONNX Runtime refuses {sum(tally.refused.values())} of {GRAPHS} graphs")
if tally.loose > 0.03 * tally.elements:
    problems.append(f"{tally.loose} of {tally.elements} numbers have wide bounds")
print("\n".join(problems))
sys.exit(1 if problems else 0)
