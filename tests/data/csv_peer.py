# SPDX-License-Identifier: Apache-2.0
"""Python's csv and json modules write the same rows; octet reads both files and finds the same examples.

octet_test_data does octet's half (CsvPeer, disabled in a plain run).
"""
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

PIECES = ['"', '""', ",", "\n", "\r\n", "\t", " ", "a", "word", "é", "漢字", "😀", ";", "'", "\\", "<br />", "{", "0"]
QUOTING = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]


def text(rng):
    return "x" + "".join(rng.choice(PIECES) for _ in range(rng.randrange(12)))


def main():
    binary = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet_test_data"
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for case in range(30):
            rows = [[text(rng), text(rng), str(rng.randrange(3))] for _ in range(50)]
            base = pathlib.Path(folder) / str(case)
            with open(f"{base}.csv", "w", newline="", encoding="utf-8") as file:
                end = "\r\n" if case % 2 else "\n"
                writer = csv.writer(file, quoting=QUOTING[case % 3], lineterminator=end)
                writer.writerow(["text", "other", "label"])
                writer.writerows(rows)
            with open(f"{base}.jsonl", "w", encoding="utf-8") as file:
                for first, second, label in rows:
                    row = {"text": first, "other": second, "label": int(label)}
                    file.write(json.dumps(row, ensure_ascii=case % 2 == 0) + "\n")
        command = [binary, "--gtest_filter=CsvPeer.*", "--gtest_also_run_disabled_tests"]
        return subprocess.run(command, env={**os.environ, "OCTET_PEER_FOLDER": folder}).returncode


if __name__ == "__main__":
    sys.exit(main())
