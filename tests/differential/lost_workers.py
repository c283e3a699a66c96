# SPDX-License-Identifier: Apache-2.0
"""A graph at which ONNX Runtime ends its process, or never comes to an end, is told and costs no other."""
import os
import signal
import sys
import time

from fuzzing.workers import Lost, Workers


LOST = {3: "-8", 5: "no end in 10 s", 7: "ValueError: seven"}


def do(task):
    if task == 3:
        os.kill(os.getpid(), signal.SIGFPE)
    if task == 5:
        time.sleep(600)
    if task == 7:
        raise ValueError("seven")
    return task * task


def nothing():
    pass


def check():
    problems = []
    begun = time.monotonic()
    with Workers(2, nothing) as workers:
        results = dict(workers.map(do, range(12), seconds=10))
        again = dict(workers.map(do, [1, 2], seconds=10))
    for task in range(12):
        result = results.get(task)
        if task in LOST:
            words = LOST[task]
            if not isinstance(result, Lost) or words not in str(result):
                problems.append(f"task {task}: {result}, expected words on {words}")
        elif result != task * task:
            problems.append(f"task {task}: {result}")
    if again != {1: 1, 2: 4}:
        problems.append(f"afterwards: {again}")
    if time.monotonic() - begun > 120:
        problems.append("the sleeper was waited for")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(check())
