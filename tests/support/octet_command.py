# SPDX-License-Identifier: Apache-2.0
"""The command, as scripts that test it call it."""
import os
import pathlib
import subprocess

OCTET = str(pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet")


def octet(*arguments, code=0, **kwargs):
    done = subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True, check=False, **kwargs)
    if "built without LibTorch" in done.stderr:
        raise SystemExit(0)  # there is nothing to train with
    assert done.returncode == code, f"{arguments}: exit {done.returncode}: {done.stderr}"
    return done.stderr if code else done.stdout


def refused(words, *arguments):
    said = octet(*arguments, code=2)
    assert words in said and said.count("\n") == 1, f"{arguments}: \"{words}\" is not in: {said}"
