#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# octet formats: the table, the same as JSON, the figure, and what it says of formats that there are not.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

"$octet" formats int8 E4M3FN --distribution uniform --distribution student-t:8:100 >table.txt
grep -q '^uniform  *48.1  *32.1$' table.txt
grep -q '^student-t:8:100  *34.4  *31.5$' table.txt
"$octet" formats int8 E4M3FN --distribution uniform --json >table.json
python3 - <<'PY'
import json
integers, floats = json.load(open("table.json"))
assert (integers["format"], floats["distribution"]) == ("int8", "uniform")
assert abs(integers["scale"] - 1 / 127.5) < 1e-5 and abs(integers["sqnr_db"] - 48.13) < 0.01
PY
"$octet" formats --figure figure.svg >/dev/null
python3 - <<'PY'
import xml.etree.ElementTree as xml
texts = ["".join(text.itertext()) for text in xml.parse("figure.svg").iter("{http://www.w3.org/2000/svg}text")]
for label in ("int8", "E2M5", "E3M4", "E4M3", "E5M2", "normal"):
    assert label in texts, (label, texts)
PY
refused "figure.svg" "$octet" formats --figure figure.svg
"$octet" formats --figure figure.svg --force >/dev/null
refused "did you mean \"E4M3FN\"" "$octet" formats E4M3FM
refused "there are uniform, gaussian" "$octet" formats --distribution cauchy
