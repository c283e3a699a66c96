#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What check, quantize and explain answer: findings by rule with the repair that mends them, models of which nothing
# becomes 8 bits, files that are in 8 bits already, and who can load what quantize wrote.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

# has TEXT: it is in out.txt
has() { grep -qF -- "$1" out.txt || fail "no \"$1\" in $(cat out.txt)"; }
lacks() { if grep -qF -- "$1" out.txt; then fail "\"$1\" in $(cat out.txt)"; fi; }

cat >float.txt <<'TEXT'
graph g opset(""=17)
input x: f32[2, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const b: f32[4] = [1, 2, 3, 4]
y = Gemm(x, w, b) "first"
z = MatMul(y, w) "second"
output z: f32[2, 4]
TEXT
"$octet" assemble float.txt -o float.onnx
cat >cache <<'TEXT'
TRT-100001-MinMaxCalibration
x: 3c008912
y: 3c810204
z: 3c810204
TEXT

# Nothing becomes 8 bits: the answer is no, with the reason, and no file.
exits 1 'Gemm: excluded by pattern ("first")' "$octet" quantize float.onnx --mode dynamic --exclude "*" -o no.onnx
exits 1 "has no QOrdered operator" "$octet" quantize float.onnx --ranges cache --target onnxruntime-cuda -o no.onnx
exits 1 "excluded by pattern" "$octet" quantize float.onnx --mode weight-only --exclude "*" -o no.onnx
[ ! -e no.onnx ] || fail "a file was written"

# In 8 bits already.
"$octet" quantize float.onnx --ranges cache -o int8.onnx >/dev/null
rc=0
"$octet" quantize int8.onnx --ranges cache -o no.onnx 2>err.txt >/dev/null || rc=$?
[ $rc = 1 ] || fail "quantized twice: $rc"
grep -qF "it reads what DQ makes of codes" err.txt || fail "$(cat err.txt)"
"$octet" explain int8.onnx --ranges cache >out.txt
grep -E "^first .*as the file has it" out.txt >/dev/null || fail "$(cat out.txt)"
! grep -E "^[a-z]+ +[A-Za-z]+ +codes " out.txt || fail "in codes: $(cat out.txt)"

# check: once for what one rule finds, a sum, and the command that mends it; the command does.
rc=0
"$octet" check int8.onnx --target tensorrt-10 >out.txt || rc=$?
[ $rc = 1 ] || fail "accepted"
[ "$(grep -c "zero-point-not-zero\]" out.txt)" = 1 ] || fail "not grouped: $(cat out.txt)"
has 'QuantizeLinear "x_quantized", DequantizeLinear "x_dequantized"'
has "refused by tensorrt-10: 2 errors by 1 rule"
command=$(sed -n "s/^mends it: octet //p" out.txt)
[ -n "$command" ] || fail "no command in $(cat out.txt)"
# shellcheck disable=SC2086
"$octet" $command >/dev/null
"$octet" check repaired.onnx --target tensorrt-10 >/dev/null || fail "the command does not mend it"
"$octet" check int8.onnx --target tensorrt-10 --json >out.txt && fail "accepted"
tr -d ' \n' <out.txt | grep -q '"repair":{"command":"octetrepairint8.onnx' || fail "$(cat out.txt)"
"$octet" check int8.onnx --target octet >out.txt
[ "$(cat out.txt)" = "int8.onnx: accepted by octet" ] || fail "$(cat out.txt)"

# Where repair can do nothing it is not advised.
cat >unheard.txt <<'TEXT'
graph g opset(""=20)
input x: f32[2, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
h = MatMul(x, w) "first"
y = Gelu(h) "gelu"
output y: f32[2, 4]
TEXT
"$octet" assemble unheard.txt -o unheard.onnx
"$octet" check unheard.onnx --target tensorrt-8.6 >out.txt && fail "accepted"
lacks "octet repair"
# ... and the error names what refuses the model, not the warning before it.
printf 'TRT-100001-MinMaxCalibration\nx: 3c008912\nh: 3c810204\ny: 3c810204\n' >cache2
exits 1 'refuses it as it is: Gelu "gelu"' "$octet" quantize unheard.onnx --ranges cache2 --target tensorrt-8.6 -o no.onnx
grep -qF "octet repair" err.txt && fail "$(cat err.txt)"

# Who loads the file, and the way for those who do not.
"$octet" quantize float.onnx --mode dynamic -o dynamic.onnx >out.txt
has "octet: loads it, 100.0 % of the multiply-adds in 8 bits"
has "onnxruntime: refuses it [unknown-domain]; for a file that it takes: octet repair dynamic.onnx --target onnxruntime"
"$octet" export dynamic.onnx --target onnxruntime -o dynamic.ort.onnx >out.txt || fail "$(cat out.txt)"
has "2 x dynamic_gemm"
"$octet" check dynamic.ort.onnx --target onnxruntime >/dev/null || fail "the export is refused"
"$octet" quantize float.onnx --ranges cache --target tensorrt-10 -o trt.onnx >out.txt
has "tensorrt-10: loads it, 100.0 %"
lacks "tensorrt-11"
# Where vpmaddubsw saturates (weights of 9 and 13 are codes 88 and 127, and 255 * 215 is beyond 2^15), and where it cannot.
"$octet" quantize float.onnx --ranges cache --target onnxruntime -o ort.onnx >out.txt
has "on x64 without VNNI 2 of 2 products can saturate"
"$octet" certify ort.onnx >/dev/null && fail "certified"
for words in "--ranges cache" "--mode dynamic" "--ranges cache --form qoperator" "--ranges cache --per-tensor"; do
  # shellcheck disable=SC2086
  "$octet" quantize float.onnx $words --target onnxruntime --reduce-range -o safe.onnx --force >out.txt
  lacks "VNNI"
  "$octet" certify safe.onnx >/dev/null || fail "$words: not certified"
done
"$octet" quantize float.onnx --ranges cache --target onnxruntime --save-plan plain.json -o ort.onnx --force >/dev/null
"$octet" quantize float.onnx --plan plain.json --reduce-range -o safe.onnx --force >out.txt
"$octet" certify safe.onnx >/dev/null || fail "a plan made without: not certified"
"$octet" quantize float.onnx --ranges cache --target tensorrt-10 -o trt.onnx --force --json >out.txt
tr -d ' \n' <out.txt | grep -q '"target":"onnxruntime","loads":true,"share_in_8_bits":1.0,"saturates_without_vnni":2' || fail "$(cat out.txt)"
exits 2 "the weight-only mode has none" "$octet" quantize float.onnx --mode weight-only --reduce-range -o no.onnx
"$octet" quantize float.onnx --mode weight-only -o weights.onnx --json >out.txt
tr -d ' \n' <out.txt | grep -q '"readers":\[{"target":"octet","loads":true,"share_in_8_bits":0.0}' || fail "$(cat out.txt)"

# FP8 is no int8.
cat >fp8.txt <<'TEXT'
graph g opset(""=19)
input x: f32[2, 4]
const s: f32[] = [0.5]
const z: f8e4m3fn[] = [0]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
q = QuantizeLinear(x, s, z)
d = DequantizeLinear(q, s, z)
p = QuantizeLinear(w, s, z)
e = DequantizeLinear(p, s, z)
y = MatMul(d, e) "product"
output y: f32[2, 4]
TEXT
"$octet" assemble fp8.txt -o fp8.onnx
"$octet" explain fp8.onnx --target tensorrt-9 >out.txt
has "0.0 % of the multiply-adds in int8, 100.0 % in fp8"
"$octet" explain fp8.onnx --target tensorrt-9,octet >out.txt
grep -E "^share of work in fp8 +100.0 % +0.0 %" out.txt >/dev/null || fail "$(cat out.txt)"

# A name that is no text.
sed 's/"product"/"NAME"/; s/^p = .*/& "NAMEp"/' fp8.txt >name.txt
"$octet" assemble name.txt -o name.onnx
LC_ALL=C sed -i 's/NAME/N\xff\xfeE/g' name.onnx
"$octet" explain name.onnx --target tensorrt-9 --json >out.txt
has "N��E"
if "$octet" check name.onnx --target tensorrt-8.6 --json >out.txt; then fail "FP8 for TensorRT 8.6"; fi
has "N��Ep"

# A pattern that leaves in float what is there anyway, or what others read in codes all the same.
cat >curve.txt <<'TEXT'
graph g opset(""=17)
input x: f32[2, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
h = MatMul(x, w) "first"
e = Erf(h) "curve"
y = MatMul(e, w) "second"
output y: f32[2, 4]
TEXT
"$octet" assemble curve.txt -o curve.onnx
printf 'TRT-100001-MinMaxCalibration\nx: 3c008912\nh: 3c810204\ne: 3c810204\ny: 3c810204\n' >cache3
"$octet" quantize curve.onnx --ranges cache3 --keep-float curve -o curve8.onnx 2>&1 >/dev/null |
  grep -qF -- "--keep-float 'curve' changes no number: second quantizes what it reads all the same; --keep-float 'second' does" || fail "no word of a pattern without effect"
"$octet" quantize curve.onnx --mode weight-only --keep-float Erf -o curve4.onnx 2>&1 >/dev/null |
  grep -qF -- "--keep-float 'Erf' changes no number: what it names is in float anyway" || fail "no word of what is in float"
"$octet" quantize curve.onnx --ranges cache3 --keep-float second -o curve2.onnx 2>err.txt >/dev/null
if grep -q "changes no number" err.txt; then fail "a pattern with an effect: $(cat err.txt)"; fi
