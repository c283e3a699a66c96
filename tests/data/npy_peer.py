# SPDX-License-Identifier: Apache-2.0
"""NumPy writes .npy and .npz files that octet reads, and reads what octet writes.

octet_test_data does octet's half (NpyPeer, disabled in a plain run): it loads every file of a folder and writes each
array again under out/, where this script compares them with the originals.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]


def arrays():
    rng = np.random.default_rng(1)
    for kind in TYPES:
        for order in "<>":
            for shape in [(), (1,), (0, 3), (5,), (2, 3), (2, 3, 4)]:
                values = np.asarray(rng.normal(size=shape) * 50).astype(np.dtype(kind).newbyteorder(order))
                yield f"{kind.replace('?', 'b')}{'l' if order == '<' else 'b'}{'x'.join(map(str, shape))}", values
                if len(shape) > 1:
                    yield f"{kind.replace('?', 'b')}{order == '<'}F{len(shape)}", np.asfortranarray(values)
    texts = ["", "a", "naïve", "日本", "\U0001f600!", "a b\tc"]
    for order in "<>":
        for shape in [(), (6,), (2, 3), (0, 2)]:
            values = np.array(texts[:int(np.prod(shape))] or [""], dtype="U6")[:int(np.prod(shape))].reshape(shape)
            values = values.astype(values.dtype.newbyteorder(order))
            yield f"text{order == '<'}{len(shape)}", values
            yield f"textF{order == '<'}{len(shape)}", np.asfortranarray(values)


def main():
    binary = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet_test_data"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        originals = dict(arrays())
        for key, array in originals.items():
            np.save(folder / f"{key}.npy", array)
        np.savez(folder / "stored.npz", **originals)
        np.savez_compressed(folder / "deflated.npz", **originals)
        subprocess.run(
            [binary, "--gtest_also_run_disabled_tests", "--gtest_filter=NpyPeer.*"],
            env={**os.environ, "OCTET_PEER_FOLDER": name},
            check=True,
        )
        archives = [np.load(folder / "out" / archive) for archive in ("stored.npz", "deflated.npz")]
        for key, array in originals.items():
            for found in [np.load(folder / "out" / f"{key}.npy"), *(archive[key] for archive in archives)]:
                assert found.shape == array.shape and found.dtype.kind == array.dtype.kind, key
                text = array.dtype.kind == "U"  # is written as long as the longest
                assert text or found.dtype == array.dtype.newbyteorder("="), key
                assert np.array_equal(found, array, equal_nan=not text), key
        print(f"{len(originals)} arrays agree, in .npy, stored and deflated .npz")


if __name__ == "__main__":
    sys.exit(main())
