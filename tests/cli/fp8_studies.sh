#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# octet fp8 pass-rates, outliers and training: networks are trained once, tables and figures are written and nothing is overwritten.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

"$octet" fp8 pass-rates --networks mlp --seed 1 -o fp8/ >table.txt
grep -q '^mlp ' table.txt || fail "no row of the network: $(cat table.txt)"
python3 - <<'END'
import json
said = json.load(open("fp8/pass-rates.json"))
(network,) = said["networks"]
assert network["network"] == "mlp" and network["accuracy_float"] > 0.5, network
for row in network["formats"]:
    loss = (network["accuracy_float"] - row["accuracy"]) / network["accuracy_float"]
    assert abs(loss - row["relative_loss"]) < 1e-12 and row["passes"] == (loss <= 0.01), row
    assert abs(loss) < 0.1, row  # 8 bits do not spoil it
rates = {row["format"]: row["all"] for row in said["pass_rates"]}
assert rates == {row["format"]: float(row["passes"]) for row in network["formats"]}, rates
END
cmp -s <(head -c 4 fp8/pass-rates.svg) <(printf '<svg') || fail "no figure"

# The network is not trained again, and what is there stays.
before=$(sha256sum fp8/mlp.onnx)
if "$octet" fp8 pass-rates --networks mlp --seed 2 -o fp8/ >/dev/null 2>err.txt; then fail "a table was overwritten"; fi
grep -q 'pass-rates.json' err.txt || fail "$(cat err.txt)"
"$octet" fp8 pass-rates --networks mlp --seed 2 --force -o fp8/ >again.txt
[ "$before" = "$(sha256sum fp8/mlp.onnx)" ] && cmp -s table.txt again.txt || fail "the network was trained again"
if "$octet" fp8 pass-rates --networks nobody --force -o fp8/ 2>err.txt; then fail "no network is no error"; fi
grep -q 'nobody' err.txt || fail "$(cat err.txt)"

# Outliers spoil int8 and not E4M3; the float network stays what it is.
"$octet" fp8 outliers --channels 4 --seed 1 -o fp8/ >/dev/null
python3 - <<'END'
import json
said = json.load(open("fp8/outliers.json"))
last = {row["format"]: row["accuracy"] for row in said["factors"][-1]["formats"]}
first = {row["format"]: row["accuracy"] for row in said["factors"][0]["formats"]}
assert said["factors"][0]["factor"] == 1 and said["factors"][-1]["factor"] >= 256
assert abs(first["int8"] - said["accuracy_float"]) < 0.02, first
assert last["int8"] < said["accuracy_float"] - 0.2 and last["E4M3"] > said["accuracy_float"] - 0.02, last
END

# FP8 learns what float learns from the same start; recipes differ, and seeds do.
"$octet" fp8 training --networks mlp --runs 2 --epochs 1 --seed 1 -o fp8/ >table.txt
grep -Eq '^mlp +2 ' table.txt || fail "no row of the second run: $(cat table.txt)"
python3 - <<'END'
import json
said = json.load(open("fp8/training.json"))
(network,) = said["networks"]
assert [run["seed"] for run in network["runs"]] == [1, 2], network
for run in network["runs"]:
    by = {row["recipe"]: row for row in run["recipes"]}
    assert list(by) == ["f32", "FP8 delayed", "FP8 current"], by
    for row in by.values():
        assert len(row["steps"]) == len(row["loss"]) >= 10 and row["steps"] == sorted(set(row["steps"])), row
        assert row["loss"][-1] < row["loss"][0], row
        assert row["accuracy"] > 0.5 and abs(row["accuracy"] - by["f32"]["accuracy"]) < 0.1, row
    assert len({tuple(row["loss"]) for row in by.values()}) == 3, by
assert network["runs"][0] != network["runs"][1]
END
cmp -s <(head -c 4 fp8/training-mlp.svg) <(printf '<svg') || fail "no figure"
if "$octet" fp8 training --networks mlp -o fp8/ >/dev/null 2>err.txt; then fail "a table was overwritten"; fi
grep -q 'training.json' err.txt || fail "$(cat err.txt)"
if "$octet" fp8 training --networks 'mlp,nobody*' --force -o fp8/ 2>err.txt; then fail "no network is no error"; fi
grep -q 'nobody' err.txt || fail "$(cat err.txt)"
