#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `octet export` and the forms of `octet quantize` from the command line: what they write, say and refuse.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

# has FILE OPERATOR: the operator is among the file's nodes
has() { "$octet" inspect "$1" | grep -qE "^ *[0-9]+  (com\.microsoft\.)?$2( |$)" || fail "$1 has no $2"; }
lacks() { if "$octet" inspect "$1" | grep -qE "^ *[0-9]+  (com\.microsoft\.)?$2( |$)"; then fail "$1 has $2"; fi; }

cat >model.txt <<'TEXT'
graph g opset(""=17)
input x: f32[4, 3]
input kind: f32[4, 3]
const w: f32[3, 4] = [0.5, -1, 2, 0.25, 3, -2, 1, 0.75, -0.5, 1, 2, -3]
const b: f32[4] = [0.1, 0.2, 0.3, 0.4]
s = Add(x, kind) "sum"
y = Gemm(s, w, b) "layer"
z = LayerNormalization(y, b, b) {axis=-1} "norm"
output z: f32[4, 4]
TEXT
"$octet" assemble model.txt -o model.onnx
cat >cache <<'TEXT'
TRT-100001-MinMaxCalibration
x: 3c008912
s: 3c008912
y: 3c810204
TEXT

# One plan, every form.
for form in qdq qcdq qoperator fused; do
  "$octet" quantize model.onnx --drop-input kind --ranges cache --target onnxruntime --form $form -o $form.onnx >/dev/null
  "$octet" check $form.onnx --target onnxruntime >/dev/null || fail "$form is refused"
done
has qdq.onnx DequantizeLinear
has qcdq.onnx Clip
has qoperator.onnx QGemm
lacks qoperator.onnx DequantizeLinear
"$octet" export qdq.onnx --form qoperator -o again.onnx | grep -q qgemm || fail "export does not say what it did"
has again.onnx QGemm
refused "is not for tensorrt-10" "$octet" quantize model.onnx --drop-input kind --ranges cache --target tensorrt-10 --form qcdq -o no.onnx
refused "did you mean \"qdq\"" "$octet" export qdq.onnx --form qdp -o no.onnx
# Ranges of tensors that the model lacks are named.
sed s/^x:/xx:/ cache >other
"$octet" quantize model.onnx --drop-input kind --ranges other -o unknown.onnx 2>err.txt >/dev/null || true
grep -qF '1 of 3 ranges are of tensors that the model does not have, such as "xx"' err.txt || fail "$(cat err.txt)"

refused "8 bits only" "$octet" quantize model.onnx --ranges cache --target tensorrt-10 --activation-bits 4 -o no.onnx
"$octet" quantize model.onnx --drop-input kind --ranges cache --weight-bits 4 --activation-bits 4 --form qcdq -o four.onnx >/dev/null
has four.onnx Clip

# 16 bits, and TensorRT 11's types.
"$octet" quantize model.onnx --drop-input kind --ranges cache --target tensorrt-11 --precision fp16 --keep-fp32 norm -o typed.onnx |
  grep -q "keep_float LayerNormalization" || fail "the island is not named"
"$octet" explain typed.onnx --target tensorrt-11 | grep -E "^layer" | grep -q int8 || fail "the layer is not int8"
"$octet" explain typed.onnx --target tensorrt-11 | grep -E "^norm" | grep -q fp32 || fail "the island is not fp32"
"$octet" export model.onnx --precision bf16 --drop-input kind -o bf16.onnx >/dev/null
refused "matches no node" "$octet" export model.onnx --precision fp16 --keep-float nothing -o no.onnx
refused "is for --precision" "$octet" export model.onnx --keep-float norm -o no.onnx

# Operator sets, both ways.
"$octet" export model.onnx --opset 13 -o old.onnx --log | grep -q decompose_layer_norm || fail "the log lacks the chain"
lacks old.onnx LayerNormalization
"$octet" export old.onnx --opset 23 -o new.onnx >/dev/null
"$octet" inspect new.onnx | grep -q "ai.onnx 23" || fail "not written for 23"
refused "no model was named" "$octet" export
refused "exists" "$octet" export model.onnx --opset 13 -o old.onnx
[ ! -e no.onnx ] || fail "a refused export left a file"

# What the target refuses is not written.
rc=0
"$octet" export qoperator.onnx --target tensorrt-10 -o no.onnx >out.txt || rc=$?
[ $rc = 1 ] && [ ! -e no.onnx ] || fail "exit $rc for a refused target"
cat >det.txt <<'TEXT'
graph g opset(""=17)
input x: f32[4, 3]
const w: f32[3, 4] = [0.5, -1, 2, 0.25, 3, -2, 1, 0.75, -0.5, 1, 2, -3]
y = MatMul(x, w) "layer"
d = Det(y) "det"
output d: f32[]
TEXT
"$octet" assemble det.txt -o det.onnx
exits 1 'tensorrt-10 refuses it as it is: Det "det"' "$octet" quantize det.onnx --mode weight-only --target tensorrt-10 -o no.onnx
[ ! -e no.onnx ] || fail "a refused quantization left a file"
"$octet" export det.onnx --form qoperator -o same.onnx 2>&1 >/dev/null |
  grep -qF "det.onnx: holds no codes, so that --form qoperator changes nothing; quantize it first" || fail "no word of a form without codes"
"$octet" export hf --help >/dev/null
echo "export.sh: ok"
