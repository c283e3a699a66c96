# SPDX-License-Identifier: Apache-2.0
"""The command: the program takes the place of Python, which only finds it."""
import os
import pathlib
import signal
import sys


def main():
    program = pathlib.Path(__file__).parent / "bin" / "octet"
    if not program.exists():
        sys.exit(f"octet: this package was installed without the command ({program} is missing); install the wheel")
    # Python ignores it, and a program keeps that: `octet predict ... | head` would end with an error.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(program, ["octet", *sys.argv[1:]])
