# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/families.py FOLDER [NAME...]
"""Writes small networks of the families that people run (all, or the named ones), in the operators that exporters write for them and
with drawn weights, as ONNX files: for bench/models_onnxruntime.py and bench/int8_models_onnxruntime.py, which say where one family
falls behind the others."""
import pathlib
import sys

from networks import generative, images, sequences, sound, tables, vision

FAMILIES = {family.__name__: family for group in (images, vision, sequences, sound, generative, tables) for family in group.FAMILIES}


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(FAMILIES)
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        sys.exit(f"no family {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.onnx"
        if path.exists():
            sys.exit(f"{path} exists")
        net, *outputs = FAMILIES[name]()
        net.save(path, *outputs)
        print(path)


main()
