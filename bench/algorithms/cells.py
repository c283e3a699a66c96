# SPDX-License-Identifier: Apache-2.0
"""Processes whose seconds and memory count, and cells of a table that are kept as files. The process that uses it should load
little: the memory of a child counts from that of its parent."""
import json
import os
import resource
import subprocess
import sys
import threading
import time


def child(command, options):
    """Runs it on one core; its exit status, seconds, memory and what it said."""
    def limited():
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
        resource.setrlimit(resource.RLIMIT_DATA, (options.memory << 30, options.memory << 30))
    begin = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          preexec_fn=limited) as process:
        stopper = threading.Timer(options.timeout, process.kill)
        stopper.start()
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        stopper.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    return {"exit": process.returncode, "wall_s": time.monotonic() - begin, "cpu_s": used.ru_utime + used.ru_stime,
            "peak_mb": used.ru_maxrss / 1024, "said": said}


def last_json(said):
    return next((json.loads(line) for line in reversed(said.splitlines()) if line.startswith("{")), {})


def slug(text):
    """As a file is called."""
    return "".join(c if c.isalnum() else "-" for c in text)


def why(done, options):
    """The message of a process that failed."""
    if done["exit"] == -9 and done["wall_s"] >= options.timeout:
        return f"stopped after {options.timeout} s"
    lines = [line.strip() for line in done["said"].splitlines() if line.strip()]
    told = [line for line in lines if "error" in line.lower()] or lines or [""]
    told = told[-1]
    return f"exit {done['exit']}: {told if len(told) <= 240 else f'{told[:120]} ... {told[-120:]}'}"


class Kept:
    """The cells that were made: a file each, written whole, so that runs beside each other do not meet."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def cells(self):
        return dict(json.loads(file.read_text()) for file in sorted(self.folder.glob("*.json")))

    def get(self, key, make):
        file = self.folder / f"{slug(key)}.json"
        if file.exists():
            return
        begin, cell = time.monotonic(), make()
        scratch = file.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps([key, cell], indent=0))
        scratch.replace(file)
        print(f"{key}: {cell.get('failed', 'done')}, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
