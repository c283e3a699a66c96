# SPDX-License-Identifier: Apache-2.0
"""Writes .npy and .npz files with Python's own library: arrays.npz("d.npz", x=("<f4", (2, 3), [...]))."""
import io
import struct
import zipfile

CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B"}


def npy_bytes(descr, shape, values):
    values = list(values)
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    out = io.BytesIO()
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    out.write(struct.pack(f"<{len(values)}{CODES[descr]}", *values))
    return out.getvalue()


def npy(path, descr, shape, values):
    with open(path, "wb") as file:
        file.write(npy_bytes(descr, shape, values))


def npz(path, **arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, (descr, shape, values) in arrays.items():
            archive.writestr(name + ".npy", npy_bytes(descr, shape, values))
