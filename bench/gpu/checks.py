#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The checks of a build on a machine with a GPU, and their table. Needs PyTorch and nothing beside it. Without a CUDA
# device it runs what a CPU can do, on fewer steps, and lists the rest as not run.
# usage: checks.py --build FOLDER --results FOLDER [--commit ID]
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import threading
import time

import torch

import eager

parser = argparse.ArgumentParser()
parser.add_argument("--build", type=pathlib.Path, required=True)
parser.add_argument("--results", type=pathlib.Path, required=True)
parser.add_argument("--commit", default="not known")
arguments = parser.parse_args()
BIN, RESULTS = arguments.build.resolve() / "bin", arguments.results.resolve()
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
THREADS = str(min(os.cpu_count() or 1, 16))
# Benchmarks look for the training library on this path.
WITH_LIBRARIES = {**os.environ, "LD_LIBRARY_PATH": f"{BIN.parent / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
NO_DEVICE = "no CUDA device"
found = []


class NotRun(Exception):
    pass


class Failed(Exception):
    pass


def check(title):
    """Runs the function now and writes down what it returns: figures, as a text."""
    def run(function):
        start = time.monotonic()
        try:
            status, text = "passed", function()
        except NotRun as reason:
            status, text = "not run", str(reason)
        except (Failed, OSError, RuntimeError, subprocess.TimeoutExpired, AssertionError) as problem:
            status, text = "FAILED", str(problem).strip().splitlines()[-1][:300] if str(problem).strip() else repr(problem)
        seconds = time.monotonic() - start
        found.append({"check": title, "status": status, "text": text, "seconds": round(seconds, 1)})
        print(f"{status:8} {title}: {text} ({seconds:.0f} s)", flush=True)
    return run


def call(log, *command, limit=900, **environment):
    """The output of a command, which is also kept in a log; a failure raises with its last line."""
    path = RESULTS / f"{log}.log"
    done = subprocess.run([str(part) for part in command], env={**os.environ, **environment}, cwd=RESULTS, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
    with path.open("a") as file:
        file.write(f"$ {' '.join(map(str, command))}\n{done.stdout}\n[exit {done.returncode}]\n")
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        raise Failed(f"exit {done.returncode}: {lines[-1] if lines else 'no output'} ({path.name})")
    return done.stdout


def needs_device():
    if not CUDA:
        raise NotRun(NO_DEVICE)


def google_tests(log, pattern, **environment):
    path = RESULTS / f"{log}.log"
    done = subprocess.run([str(BIN / "octet_test_train"), f"--gtest_filter={pattern}"], text=True, timeout=1500,
                          cwd=RESULTS, env={**os.environ, "OCTET_SOURCE_DIR": str(pathlib.Path(__file__).parents[2]),
                                            "OCTET_BUILD_DIR": str(arguments.build), "OCTET_LIB_DIR": str(arguments.build / "lib"),
                                            **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    path.write_text(done.stdout)
    count = {word: int(number) for word, number in
             re.findall(r"\[  (PASSED|SKIPPED|FAILED) +\] (\d+) tests?", done.stdout)}
    failed = re.findall(r"\[  FAILED  \] ([^ ,]+),? where|\[  FAILED  \] ([\w./]+) \(", done.stdout)
    names = sorted({a or b for a, b in failed})
    if done.returncode < 0:
        raise Failed(f"ended by signal {-done.returncode} ({path.name})")
    if names or not count.get("PASSED", 0) + count.get("SKIPPED", 0):
        raise Failed(f"{count.get('PASSED', 0)} passed, {len(names)} failed: {', '.join(names[:8])} ({path.name})")
    if not count.get("PASSED"):
        raise NotRun(f"{count['SKIPPED']} tests were skipped")
    return f"{count['PASSED']} tests passed" + (f", {count['SKIPPED']} skipped" if count.get("SKIPPED") else "")


@check("the training tests on the CPU")
def _():
    return google_tests("tests-cpu", "*")


@check("the trainer's tests on CUDA")
def _():
    needs_device()
    return google_tests("tests-cuda", "Trainer*:Resume*:Objective*:ScaleTraining*:Divergence*:Fp8.*Learn*:Fp8.*Run*",
                        OCTET_TEST_DEVICE="cuda", CUBLAS_WORKSPACE_CONFIG=":4096:8")


@check("one step of 14 ways of training on CPU and CUDA, within 0.5 % of the largest change")
def _():
    needs_device()
    return google_tests("tests-agreement", "Ways/Cuda.*")


@check("a run that moves from CPU to CUDA and back")
def _():
    needs_device()
    return google_tests("tests-moving", "Cuda.ARunMoves*")


@check("steps on the device without data wait for nothing")
def _():
    return google_tests("tests-steps", "*DeviceSteps*")


class Memory:
    """The most memory of the device that was taken while it is open, in MB."""

    def __enter__(self):
        self.most, self.done = 0, threading.Event()
        if CUDA:
            torch.cuda.empty_cache()
            self.before = torch.cuda.mem_get_info()[0]
            self.thread = threading.Thread(target=self.watch)
            self.thread.start()
        return self

    def watch(self):
        while not self.done.wait(0.02):
            self.most = max(self.most, (self.before - torch.cuda.mem_get_info()[0]) / 1e6)

    def __exit__(self, *_):
        self.done.set()
        if CUDA:
            self.thread.join()


class Octet:
    def __init__(self, network, mode):
        self.process = subprocess.Popen([str(BIN / "octet_bench_train_steps"), network, mode, THREADS, "0.1",
                                         str(RESULTS / "weights.npz"), DEVICE],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=WITH_LIBRARIES)
        if not self.process.stdout.readline():
            raise Failed(f"octet_bench_train_steps {network} {mode} {DEVICE} ended with {self.process.wait()}")

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"octet_bench_train_steps ended with {self.process.wait()}")
        return float(line.split()[1])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def speed(network, mode):
    count, rounds = (200, 5) if CUDA else ((10, 2) if network == "cnn" else (1, 2))

    def measure(make):
        with Memory() as memory:
            runner = make()
            runner.steps(count if CUDA else 1)
            times = sorted(runner.steps(count) / count for _ in range(rounds))
            runner.close()
        return 1000 * times[len(times) // 2], memory.most
    ours, our_memory = measure(lambda: Octet(network, mode))
    theirs, their_memory = measure(lambda: eager.Steps(network, mode, DEVICE))
    text = f"octet {ours:.2f} ms a step, PyTorch eager {theirs:.2f} ms: {theirs / ours:.2f} times as fast"
    return text + (f"; {our_memory:.0f} and {their_memory:.0f} MB of the device" if CUDA else " (on the CPU, as a rehearsal)")


for network_ in ("cnn", "bert-mini"):
    for mode_ in ("float", "qat", "lsq"):
        check(f"speed, {network_}, {mode_}")(lambda n=network_, m=mode_: speed(n, m))


def accuracy(text):
    shares = re.findall(r'"accuracy": *([0-9.]+)', text)
    if not shares:
        raise Failed("octet eval says no accuracy")
    return float(shares[0])


@check("train, qat and eval of the CNN by the command")
def _():
    few = [] if CUDA else ["--steps", "60"]
    octet = BIN / "octet"
    call("command", octet, "train", "cnn", "--data", "generated", "--epochs", "3", *few, "--device", DEVICE, "--force",
         "-o", "cnn.onnx")
    call("command", octet, "qat", "cnn.onnx", "--data", "generated", "--epochs", "1", *few, "--learned-scales",
         "--device", DEVICE, "--force", "-o", "cnn-int8.onnx")
    shares = [accuracy(call("command", octet, "eval", model, "--data", "generated", "--json"))
              for model in ("cnn.onnx", "cnn-int8.onnx")]
    if CUDA and min(shares) < 0.9:
        raise Failed(f"accuracy {shares[0]:.4f} and in int8 {shares[1]:.4f}")
    return f"accuracy {shares[0]:.4f}, in int8 {shares[1]:.4f}"


@check("train and qat of a BERT by the command, in f32, bf16 and fp8" + (" and f16" if CUDA else ""))
def _():
    octet, out = BIN / "octet", []
    few = ["--steps", "200" if CUDA else "6", "--limit", "2000" if CUDA else "200", "--test-limit", "200"]
    for precision in ("f32", "bf16", "fp8") + (("f16",) if CUDA else ()):
        folder = f"bert-{precision}"
        call("command", octet, "train", "bert", "--size", "tiny", "--vocab", "1000", *few, "--device", DEVICE,
             "--precision", precision, "--force", "-o", folder)
        record = json.loads((RESULTS / folder / "training.json").read_text())
        losses = re.findall(r'"(?:train_)?loss": ([0-9.e-]+)', json.dumps(record))
        out.append(f"{precision} loss {float(losses[-1]):.3f}" if losses else precision)
    call("command", octet, "qat", "bert-f32", "--data", "reviews", *few, "--device", DEVICE, "--distill", "--force",
         "-o", "bert-qat")
    return ", ".join(out)


@check("two processes through Gloo")
def _():
    if CUDA and torch.cuda.device_count() < 2:
        raise NotRun("one CUDA device; each process needs one")
    run = [*([os.environ.get("PYTHON", "python3"), "-m", "torch.distributed.run"]), "--no-python", "--nproc-per-node", "2"]
    start = time.monotonic()
    call("processes", *run, BIN / "octet", "train", "cnn", "--data", "generated", "--steps", "200" if CUDA else "20",
         "--device", DEVICE, "--threads", "1", "--force", "-o", "two.onnx")
    return f"{time.monotonic() - start:.0f} s"


@check("two processes through NCCL")
def _():
    raise NotRun("octet's processes speak Gloo alone")


@check("FP8 products of the device (cuBLASLt) against those that octet's CPU computes")
def _():
    needs_device()
    if torch.cuda.get_device_capability() < (8, 9):
        raise NotRun(f"{torch.cuda.get_device_name()} has no FP8 products")
    return eager.fp8_products("cuda")


@check("the same comparison on the CPU")
def _():
    return eager.fp8_products("cpu")


facts = {
    "commit": arguments.commit, "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"),
    "device": torch.cuda.get_device_name() if CUDA else "none", "devices": torch.cuda.device_count(),
    "PyTorch": torch.__version__, "CUDA of PyTorch": torch.version.cuda or "none", "Python": platform.python_version(),
    "system": platform.platform(), "cores": os.cpu_count(),
}
(RESULTS / "results.json").write_text(json.dumps({"machine": facts, "checks": found}, indent=1) + "\n")
table = ["| check | outcome | figures |", "|---|---|---|"]
table += [f"| {c['check']} | {c['status']} | {c['text']} |" for c in found]
said = ", ".join(f"{name} {value}" for name, value in facts.items())
(RESULTS / "results.md").write_text(f"{said}\n\n" + "\n".join(table) + "\n")
failed_checks = sum(c["status"] == "FAILED" for c in found)
print(f"{sum(c['status'] == 'passed' for c in found)} passed, {failed_checks} failed, "
      f"{sum(c['status'] == 'not run' for c in found)} not run; {RESULTS / 'results.md'}")
raise SystemExit(1 if failed_checks else 0)
