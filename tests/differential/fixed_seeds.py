# SPDX-License-Identifier: Apache-2.0
"""Random graphs of fixed seeds in every executor, every form, and ONNX Runtime: nothing differs but by ties of rounding,
and nearly all numbers are bounded as narrowly as one code (docs/differential.md)."""
import sys

from fuzzing import main

GRAPHS = 3000


def check():
    tally = main.search(main.parse(["--graphs", str(GRAPHS), "--seed", "1", "--jobs", "2"]))
    print(tally.report())
    problems = []
    if tally.seeds:
        problems.append("findings; reduced by: tools/differential --out found --seeds "
                        + " ".join(str(min(seeds)[1]) for seeds in tally.seeds.values()))
    if tally.run < 0.95 * GRAPHS:
        problems.append(f"only {tally.run} of {GRAPHS} graphs were run")
    if sum(tally.refused.values()) > 0.02 * GRAPHS:
        problems.append(f"ONNX Runtime refuses {sum(tally.refused.values())} of {GRAPHS} graphs")
    if tally.sharp < 0.95 * tally.run or tally.wide > 0.05 * tally.run:
        problems.append("the bounds are too wide to show one wrong code")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(check())
