#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `octet explain` and `octet diff` from the command line: shares, refused files, one target and several, JSON.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

# model FILE ZERO: one quantized product whose activation has this zero point
model() {
  cat >"$1.txt" <<TEXT
graph g opset(""=17)
input x: f32[2, 4]
const s: f32[] = [0.1]
const z: i8[] = [0]
const a: i8[] = [$2]
const w: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
q = QuantizeLinear(x, s, a)
d = DequantizeLinear(q, s, a)
wd = DequantizeLinear(w, s, z)
y = MatMul(d, wd) "product"
output y: f32[2, 4]
TEXT
  "$octet" assemble "$1.txt" -o "$1"
}
model symmetric.onnx 0
model shifted.onnx 7
cat >float.txt <<'TEXT'
graph g opset(""=17)
input x: f32[2, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
y = MatMul(x, w) "product"
output y: f32[2, 4]
TEXT
"$octet" assemble float.txt -o float.onnx

# says TEXT COMMAND...: the text is among what the command prints
says() {
  local text=$1
  shift
  "$@" >out.txt || fail "$* failed"
  grep -qF -- "$text" out.txt || fail "$*: no \"$text\" in $(cat out.txt)"
}

says "100.0 % of the multiply-adds in int8" "$octet" explain symmetric.onnx --target tensorrt-10
says "refused by tensorrt-10: 2 errors, see octet check" "$octet" explain shifted.onnx --target tensorrt-10
says "- of the multiply-adds in int8" "$octet" explain shifted.onnx --target tensorrt-10
grep -E "^product .* refused +zero-point-not-zero" out.txt >/dev/null || fail "the product is not refused"
"$octet" check shifted.onnx --target tensorrt-10 >/dev/null && fail "check takes it"
says "refused by tensorrt-10: 2 errors" "$octet" explain shifted.onnx --target tensorrt-10,octet
grep -E "^share of work in int8 +- +100.0 %" out.txt >/dev/null || fail "the share is not -"
"$octet" explain shifted.onnx --target tensorrt-10 --json | tr -d ' \n' | grep -q '"errors":2,"int8_share":null,' || fail "the JSON"
"$octet" explain symmetric.onnx --target octet --json | tr -d ' \n' | grep -q '"errors":0,"int8_share":1.0,' || fail "the JSON"

says "multiply-adds in int8: 0.0 % and 100.0 %" "$octet" diff float.onnx symmetric.onnx --target onnxruntime
grep -E "^product .*MatMul \(float\) +MatMulIntegerToFloat \(int8\)" out.txt >/dev/null || fail "the product did not change"
cp out.txt first.txt
says "multiply-adds" "$octet" explain float.onnx --diff symmetric.onnx --target onnxruntime
cmp -s out.txt first.txt || fail "explain --diff says something else"
says "shifted.onnx is refused by tensorrt-10" "$octet" diff symmetric.onnx shifted.onnx --target tensorrt-10
says "octet diff" "$octet" diff --help
refused "unknown target" "$octet" diff float.onnx symmetric.onnx --target nowhere
