# SPDX-License-Identifier: Apache-2.0
"""Random graphs of fixed seeds in every executor, every form, and ONNX Runtime: nothing differs but by ties of rounding,
and nearly all numbers are bounded as narrowly as one code (docs/differential.md)."""
import sys

from fuzzing import drawn, main

FIRST = 1
GRAPHS = 2200
FREE = 1000
HALVES = 400
CODED = 700


def told(tally, flags):
    if not tally.seeds:
        return []
    return [f"findings; reduced by: tools/differential {flags}--out found --seeds "
            + " ".join(str(min(seeds)[1]) for seeds in tally.seeds.values())]


def check_free():
    """Any operators and types, by bounds from ONNX Runtime."""
    tally = main.search(main.parse(["--free", "--graphs", str(FREE), "--seed", "1", "--jobs", "2"]))
    print(tally.report())
    problems = told(tally, "--free ")
    if tally.run < 0.95 * FREE:
        problems.append(f"only {tally.run} of {FREE} free graphs were run")
    return problems


def check_kind(kind, graphs, wanted, share):
    """`wanted`: what at least that share of the graphs must hold."""
    tally = main.search(main.parse([f"--{kind}", "--graphs", str(graphs), "--seed", "1", "--jobs", "2"]))
    print(tally.report())
    problems = told(tally, f"--{kind} ")
    if tally.run < 0.93 * graphs:
        problems.append(f"only {tally.run} of {graphs} graphs of {kind} were run")
    return problems + [f"only {tally.drawn[name]} of {graphs} graphs of {kind} hold {name}" for name in wanted
                       if tally.drawn[name] < share * graphs]


def check():
    tally = main.search(main.parse(["--graphs", str(GRAPHS), "--seed", str(FIRST), "--jobs", "2"]))
    print(tally.report())
    problems = told(tally, "")
    if tally.run < 0.95 * GRAPHS:
        problems.append(f"only {tally.run} of {GRAPHS} graphs were run")
    if sum(tally.refused.values()) > 0.02 * GRAPHS:
        problems.append(f"ONNX Runtime refuses {sum(tally.refused.values())} of {GRAPHS} graphs")
    # One code at a tie is in all numbers that a norm makes of its row, so that some of their codes have leeway too.
    if tally.sharp < 0.93 * tally.run or tally.wide > 0.05 * tally.run:
        problems.append("the bounds are too wide to show one wrong code")
    problems += check_free()
    problems += check_kind("halves", HALVES, drawn.OF_HALVES, 0.12)
    problems += check_kind("coded", CODED, drawn.OF_CODED, 0.05)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(check())
