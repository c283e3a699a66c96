# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/without_avx512.py SCRIPT ARGS...
"""Runs a benchmark as on a processor with AVX2 alone: OCTET_ISA=avx2 for octet, and a copy of ONNX Runtime whose cpuid
instructions are answered without AVX-512, AVX-VNNI, AVX10 and AMX. ONNX Runtime has no setting for that. OCTET_ISA=avx512vnni before
it: as on a processor that lacks AMX alone.

The copy is made in a temporary folder (2 s, some 60 MB). What the machine says of itself stays as it is: caches, core counts and clock
are those of a larger processor than such a one.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import onnxruntime

HERE = pathlib.Path(__file__).parent


def without_cpuid(library):
    """Replaces cpuid (0f a2) by ud2 (0f 0b) where the disassembly has one; how many."""
    sections = subprocess.run(["objdump", "-h", "-j", ".text", library], check=True, capture_output=True, text=True).stdout
    _, address, _, offset = (int(number, 16) for number in re.search(r"\.text\s+(\w+)\s+(\w+)\s+(\w+)\s+(\w+)", sections).groups())
    code = bytearray(library.read_bytes())
    listing = subprocess.Popen(["objdump", "-d", "-j", ".text", "--no-show-raw-insn", library], stdout=subprocess.PIPE, text=True)
    count = 0
    for line in listing.stdout:
        if line.rstrip().endswith("cpuid"):
            at = int(line.split(":")[0], 16) - address + offset
            assert code[at:at + 2] == b"\x0f\xa2", f"no cpuid at {at:#x}"
            code[at:at + 2] = b"\x0f\x0b"
            count += 1
    library.unlink()
    library.write_bytes(code)
    return count


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy = folder / "onnxruntime"
        shutil.copytree(pathlib.Path(onnxruntime.__file__).parent, copy)
        (library,) = (copy / "capi").glob("onnxruntime_pybind11_state*.so")
        count = without_cpuid(library)
        if count == 0:
            sys.exit(f"without_avx512: no cpuid instruction in {library.name}")
        mask = folder / "mask.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", mask, HERE / "without_avx512.c"], check=True)
        isa = os.environ.get("OCTET_ISA")
        environment = dict(os.environ, OCTET_ISA=isa if isa == "avx512vnni" else "avx2", LD_PRELOAD=str(mask), PYTHONPATH=str(folder))
        sys.exit(subprocess.run([sys.executable, *sys.argv[1:]], env=environment, check=False).returncode)


main()
