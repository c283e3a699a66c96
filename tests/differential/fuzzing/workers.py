# SPDX-License-Identifier: Apache-2.0
"""Tasks in processes of their own, one at a time in each, so that a task which ends its process or never comes to an end (ONNX
Runtime does both to some graphs) costs that task alone."""
import multiprocessing
import os
import signal
import time
import traceback
from multiprocessing import connection

# Each process imports anew: one that is forked would hold the pipes of the others open.
SPAWNED = multiprocessing.get_context("spawn")


class Lost:
    """What comes of a task whose process ended, that took too long, or that raised what it does not handle."""

    def __init__(self, text, seconds):
        self.text, self.seconds = text, seconds

    def __str__(self):
        return self.text


def serve(pipe, start, arguments):
    os.setsid()  # what it starts ends with it
    start(*arguments)
    while True:
        try:
            function, task = pipe.recv()
        except EOFError:
            return
        begun = time.monotonic()
        try:
            result = function(task)
        except Exception:
            result = Lost(f"raised {traceback.format_exc()}", time.monotonic() - begun)
        pipe.send(result)


class Worker:
    def __init__(self, start, arguments):
        self.pipe, far = SPAWNED.Pipe()
        self.process = SPAWNED.Process(target=serve, args=(far, start, arguments), daemon=True)
        self.process.start()
        far.close()
        self.task = None
        self.begun = self.deadline = 0.0

    def give(self, function, task, seconds):
        self.task, self.begun = task, time.monotonic()
        self.deadline = self.begun + seconds
        self.pipe.send((function, task))

    def stop(self):
        """How the process ended."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # not in its own group yet, or gone
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Workers:
    """`start(*arguments)` is called in each process before its first task."""

    def __init__(self, jobs, start, arguments=()):
        self.start, self.arguments = start, arguments
        self.workers = [self.make() for _ in range(jobs)]

    def make(self):
        return Worker(self.start, self.arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.stop()

    def map(self, function, tasks, seconds):
        """(task, what function(task) gives, or Lost) for each, in any order."""
        tasks = iter(tasks)
        for at in range(len(self.workers)):
            self.hand_out(at, function, tasks, seconds)
        while busy := [w for w in self.workers if w.task is not None]:
            ready = connection.wait([w.pipe for w in busy], timeout=1)
            for at, worker in enumerate(self.workers):
                if worker.task is None:
                    continue
                task, spent = worker.task, time.monotonic() - worker.begun
                if worker.pipe in ready:
                    try:
                        result = worker.pipe.recv()
                    except EOFError:
                        worker.process.join()
                        result = Lost(f"its process ended with {worker.process.exitcode}", spent)
                elif time.monotonic() > worker.deadline:
                    result = Lost(f"no end in {seconds:g} s", spent)
                else:
                    continue
                if isinstance(result, Lost):
                    worker.stop()
                    self.workers[at] = self.make()
                self.hand_out(at, function, tasks, seconds)
                yield task, result

    def hand_out(self, at, function, tasks, seconds):
        self.workers[at].task = None
        for task in tasks:
            self.workers[at].give(function, task, seconds)
            return
