#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A model of batch one with a scalar and a state among its inputs is calibrated and quantized: the scalar comes from the
# data, the state begins at zero where --zeros says so.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

cat >cell.txt <<'TEXT'
graph g opset(""=17)
input x: f32[1, 4]
input rate: f32[]
input state: f32[2, 1, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
p = MatMul(x, w) "product"
q = Mul(p, rate)
n = Add(state, q)
y = Tanh(n)
output y: f32[2, 1, 4]
TEXT
"$octet" assemble cell.txt -o cell.onnx
python3 - <<'PY'
import arrays
arrays.npz("data.npz", x=("<f4", (8, 4), [0.1 * i for i in range(32)]), rate=("<f4", (8,), [0.5] * 8))
PY
refused 'use --zeros' "$octet" quantize cell.onnx --data npz:data.npz -o int8.onnx
"$octet" quantize cell.onnx --data npz:data.npz --zeros state -o int8.onnx >/dev/null 2>err.txt
if grep -q everywhere err.txt; then fail "a word about zeros that were asked for: $(cat err.txt)"; fi
"$octet" check int8.onnx --target octet >/dev/null
"$octet" calibrate cell.onnx --data npz:data.npz --zeros state -o ranges.json >/dev/null
grep -q '"p"' ranges.json
refused 'no such input' "$octet" calibrate cell.onnx --data npz:data.npz --zeros stat -o other.json
