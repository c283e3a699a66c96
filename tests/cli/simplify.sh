#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `octet simplify` from the command line: what it says, what it writes, and what it refuses.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

cat >model.txt <<'TEXT'
graph g opset(""=17)
input ids: i64[N, S]
input kinds: i64[N, S]
input spare: f32[2]
const words: f32[5, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
const table: f32[2, 3] = [0.5, 0.25, 0.125, 7, 8, 9]
const yes: bool[] = [1]
const ratio: f32[] = [0.5]
a = Gather(words, ids)
b = Gather(table, kinds)
c = Add(a, b)
d = Identity(c)
e = Dropout(d, ratio, yes) "dropout"
y = Relu(e)
z = Exp(c)
output y: f32[N, S, 3]
output z: f32[N, S, 3]
TEXT
"$octet" assemble model.txt -o model.onnx >/dev/null

# Dropout in training mode draws other numbers than its removal: said, and told apart by --verify.
"$octet" simplify model.onnx -o kept.onnx --drop-input kinds=1 --drop-output z --json >kept.json
rc=0
"$octet" simplify model.onnx -o gone.onnx --drop-training-dropout --drop-input spare --verify 2 --log >gone.txt || rc=$?
[ $rc = 1 ] || fail "a difference must exit 1, not $rc: $(cat gone.txt)"
grep -q "^#.* remove_training_dropout dropout: .*(inexact)$" gone.txt || fail "log: $(cat gone.txt)"
grep -q "^DIFFERENT on 2 random inputs" gone.txt || fail "verify: $(cat gone.txt)"
[ -f gone.onnx ] || fail "the file must be written all the same"

"$octet" simplify gone.onnx -o exact.onnx --drop-input kinds --verify 3 >exact.txt || fail "$(cat exact.txt)"
grep -q '^input "kinds" (i64\[N, S\]) is zeros: a constant i64\[1, 1\]$' exact.txt || fail "$(cat exact.txt)"
grep -q "^equal on 3 random inputs (reference executor): largest difference 0,.* 0 is allowed$" exact.txt || fail "$(cat exact.txt)"

python3 - <<'PY'
import json
kept = json.load(open("kept.json"))
assert kept["dropped_inputs"][0]["name"] == "kinds" and kept["dropped_inputs"][0]["value"] == 1, kept
assert kept["unused_inputs"] == ["spare"], kept
assert kept["operators"]["Gather"] == {"before": 2, "after": 1}, kept
assert kept["operators"]["Exp"]["after"] == 0 and kept["operators"]["Dropout"]["after"] == 1, kept
assert all(c["exact"] and c["effect"] == "exact" and c["why"] for c in kept["changes"]), kept
PY

refused 'exists; use --force' "$octet" simplify model.onnx -o kept.onnx
refused 'has no input "kind"; did you mean "kinds"?' "$octet" simplify model.onnx -o x.onnx --drop-input kind
refused '"two" is no number' "$octet" simplify model.onnx -o x.onnx --drop-input kinds=two
refused 'has no output "w"' "$octet" simplify model.onnx -o x.onnx --drop-output w
refused 'wants reference or native' "$octet" simplify model.onnx -o x.onnx --verify 1 --executor torch
[ ! -e x.onnx ] || fail "a refusal must write nothing"

# Indices into a table of one row.
cat >row.txt <<'TEXT'
graph g opset(""=17)
input i: i64[n]
const table: f32[1, 3] = [0.5, 1, 2]
y = Gather(table, i)
z = Relu(y)
output z: f32[n, 3]
TEXT
"$octet" assemble row.txt -o row.onnx >/dev/null
"$octet" simplify row.onnx -o row.simple.onnx --verify 3 >/dev/null

# What 16 bits hold is rounded more coarsely.
cat >half.txt <<'TEXT'
graph g opset(""=17)
input x: f16[64, 3]
const w: f16[3, 2] = [0.31, 1.7, -0.9, 0.77, 0.13, -1.1]
const b: f16[2] = [0.3, 0.7]
m = MatMul(x, w)
y = Add(m, b)
output y: f16[64, 2]
TEXT
"$octet" assemble half.txt -o half.onnx >/dev/null
"$octet" simplify half.onnx -o half.simple.onnx --verify 3 >half.said || fail "$(cat half.said)"
grep -q "fold_bias (rounding)" half.said || fail "$(cat half.said)"
grep -q "^equal on 3 random inputs .*; 0.004 is allowed$" half.said || fail "$(cat half.said)"
