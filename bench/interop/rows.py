# SPDX-License-Identifier: Apache-2.0
# What both makers of files share: the list of rows, and calibration data for ONNX Runtime.
import contextlib
import io
import json
import re
import shutil
import traceback
import warnings

import onnxruntime.quantization as ort


class Rows:
    """Rows in the order in which they are added; each is a function that writes one ONNX file. Settings of a row, for
    judge.py: `simplify`, options of it; `samples` that repair takes of the data; `count` of examples that decide (of what changes, 1,000 do not tell 0.3 points
    from chance); `onnxruntime`, to be repaired for it too."""

    def __init__(self, out, beside=()):
        """`beside`: files that each model wants in its folder."""
        self.out, self.beside, self.all = out, beside, []

    def add(self, title, **settings):
        def keep(function):
            self.all.append((title, settings, function))
            return function
        return keep

    def make(self, only):
        """Makes the rows whose name holds one of the words, or all; those that are there are kept."""
        only, names = [slug(word) for word in only], [slug(title) for title, _, _ in self.all]
        for word in only:
            if not any(word in name for name in names):
                raise SystemExit(f"no row's name holds {word}; rows: {', '.join(names)}")
        failed = []
        for title, settings, function in self.all:
            folder = self.out / slug(title)
            path = folder / "model.onnx"
            if only and not any(word in slug(title) for word in only):
                continue
            folder.mkdir(parents=True, exist_ok=True)
            if path.exists():
                (folder / "row.json").write_text(json.dumps({"title": title, **settings}))
                continue
            noise = io.StringIO()
            try:
                with warnings.catch_warnings(), contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise):
                    warnings.simplefilter("ignore")
                    function(path)
                for file in self.beside:
                    shutil.copy(file, folder)
                (folder / "row.json").write_text(json.dumps({"title": title, **settings}))
                print(f"made: {title}", flush=True)
            except Exception:
                failed.append(title)
                path.unlink(missing_ok=True)
                print(f"not made: {title}\n{noise.getvalue()[-2000:]}\n{traceback.format_exc()}", flush=True)
        if failed:
            raise SystemExit(f"{len(failed)} files were not made: {', '.join(failed)}")


def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


class Calibration(ort.CalibrationDataReader):
    """Every pass over the batches begins anew."""

    def __init__(self, batches):
        self.batches, self.at = batches, 0

    def get_next(self):
        self.at += 1
        return self.batches[self.at - 1] if self.at <= len(self.batches) else None

    def rewind(self):
        self.at = 0
