# SPDX-License-Identifier: Apache-2.0
"""octet.Session with packed sequences, from the source tree: each has the bits that it has alone. The model is the 8-bit
BERT of an example."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(os.environ["OCTET_SOURCE_DIR"]) / "python"))
BUILD = pathlib.Path(os.environ["OCTET_BUILD_DIR"])

if os.environ.get("LD_LIBRARY_PATH", "") != str(BUILD / "lib"):  # read when a process starts
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"LD_LIBRARY_PATH": str(BUILD / "lib")})

import numpy as np
import octet

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([BUILD / "bin/octet_example_build_bert"], cwd=folder, check=True, capture_output=True)
    model = pathlib.Path(folder) / "bert-int8/model.onnx"
    packed, alone = octet.Session(model, packed=True), octet.Session(model)
    names = [value.name for value in packed.inputs]
    assert names[-1] == "offsets" and "attention_mask" not in names, names
    random = np.random.default_rng(5)
    lengths = [7, 1, 12, 3]
    sequences = [random.integers(1, 1000, length) for length in lengths]
    offsets = np.cumsum([0, *lengths])
    tokens = np.concatenate(sequences)
    given = {"input_ids": tokens, "token_type_ids": np.zeros_like(tokens), "offsets": offsets}
    assert set(given) == set(names), names
    together, = packed.run(given).values()
    assert together.shape == (len(lengths), 2), together.shape
    for got, sequence in zip(together, sequences):
        ids = sequence[None]
        wanted, = alone.run({"input_ids": ids, "attention_mask": np.ones_like(ids),
                             "token_type_ids": np.zeros_like(ids)}).values()
        assert np.array_equal(got, wanted[0]), (got, wanted)
    try:
        packed.run(given | {"offsets": offsets[:-1]})
        raise SystemExit("offsets that leave tokens out are taken")
    except octet.Error as error:
        assert "offset" in str(error), error
