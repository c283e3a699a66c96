#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calibration in parts gives the bytes of one run, in each format; ranges are shown and compared.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

cat >model.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 1, 28, 28]
const w: f32[1, 1, 3, 3] = [0.5, -1, 0.25, 1, 2, -0.5, 0.125, -2, 0.75]
c = Conv(x, w)
r = Relu(c)
t = Tanh(c)
output r: f32[N, 1, 26, 26]
output t: f32[N, 1, 26, 26]
TEXT
"$octet" assemble model.txt -o model.onnx
sed 's/f32\[N/f32[4/' model.txt >fixed.txt
"$octet" assemble fixed.txt -o fixed.onnx

# parts COUNT MODEL OPTION...: in part-1 to part-COUNT
parts() {
  local count=$1 model=$2 i
  shift 2
  rm -f part-*
  for ((i = 1; i <= count; ++i)); do
    "$octet" calibrate "$model" --data generated --samples 30 --batch 4 --shard "$i/$count" "$@" -o "part-$i" >/dev/null
  done
}

for model in model.onnx fixed.onnx; do
  for options in "--calibrator min-max" "--calibrator moving-average:0.05" "--calibrator percentile:99 --asymmetric" \
    "--calibrator entropy" "--calibrator mse --asymmetric"; do
    parts 3 $model $options
    for format in json tensorrt onnxruntime; do
      "$octet" calibrate $model --data generated --samples 30 --batch 4 $options --format $format -o one --force >/dev/null
      "$octet" ranges merge part-3 part-1 part-2 --format $format -o merged --force >/dev/null
      cmp one merged || fail "$model $options: the $format file of three parts is not that of one run"
    done
  done
done

# What is not all parts of one calibration is refused by name, and nothing is written.
parts 3 model.onnx --calibrator entropy
refused "missing: 2/3" "$octet" ranges merge part-1 part-3 -o none
refused "part-2: shard 2/3 is part-2 already" "$octet" ranges merge part-1 part-2 part-2 part-3 -o none
"$octet" calibrate model.onnx --data generated --samples 31 --batch 4 --shard 2/3 --calibrator entropy -o other >/dev/null
refused "other: the number of samples is 31, that of part-1 30" "$octet" ranges merge part-1 other part-3 -o none
head -c 200 part-2 >short
refused "short: line 1" "$octet" ranges merge part-1 short part-3 -o none
sed '2s/"infinities":0/"infinities":1/' part-2 >changed
refused "changed: the hash at its end" "$octet" ranges merge part-1 changed part-3 -o none
refused "model.txt: line 1: no shard" "$octet" ranges merge model.txt -o none
refused "auto" "$octet" calibrate model.onnx --data generated --shard 1/3 -o none
refused "ranges merge" "$octet" calibrate model.onnx --data generated --shard 1/3 --calibrator mse --format tensorrt -o none
refused "4/3" "$octet" calibrate model.onnx --data generated --shard 4/3 --calibrator mse -o none
refused "octet ranges merge" "$octet" quantize model.onnx --ranges part-1 -o none
"$octet" calibrate model.onnx --data generated --samples 30 --shard 1/1 --calibrator min-max -o extremes >/dev/null
refused "no histogram" "$octet" ranges merge extremes --calibrator mse -o none
[ ! -e none ] || fail "a file was written all the same"

# What is merged quantizes as the ranges of one run.
"$octet" ranges merge part-* -o merged.json >/dev/null
"$octet" calibrate model.onnx --data generated --samples 30 --calibrator entropy -o one.json >/dev/null
"$octet" quantize model.onnx --ranges merged.json -o merged.onnx >/dev/null 2>&1
"$octet" quantize model.onnx --ranges one.json -o one.onnx >/dev/null 2>&1
cmp merged.onnx one.onnx || fail "ranges of parts give another file"

# One histogram serves other calibrators.
"$octet" ranges merge part-* --calibrator mse -o mse.json >/dev/null
"$octet" calibrate model.onnx --data generated --samples 30 --calibrator mse -o one-mse.json >/dev/null
cmp mse.json one-mse.json || fail "ranges merge --calibrator mse"

cat >a.json <<'TEXT'
{"x": [-127, 3], "y": [0, 255], "z": [-1, 1]}
TEXT
cat >b.json <<'TEXT'
{"x": [-130, 3], "y": [0, 255], "w": [-1, 1]}
TEXT
"$octet" ranges show a.json | grep -Eq '^x +-127 +3 +1$' || fail "show: $("$octet" ranges show a.json)"
"$octet" ranges show a.json --asymmetric | grep -Eq '^y +0 +255 +1 +-128$' || fail "show --asymmetric"
"$octet" ranges show a.json --json | grep -q '"zero_point"' || fail "show --json"
"$octet" ranges show part-1 | grep -q 'shard 1 of 3: 8 of 30 samples' || fail "show of a shard"
"$octet" ranges show part-1 --json | grep -q '"observed"' || fail "show --json of a shard"
"$octet" ranges diff a.json a.json >/dev/null || fail "a file differs from itself"
status=0
"$octet" ranges diff a.json b.json >out.txt || status=$?
[ $status = 1 ] || fail "diff: exit $status"
grep -Eq '^x .*3\.00 +\+2\.36$' out.txt || fail "diff: $(cat out.txt)"
grep -Eq '^z .*none' out.txt || fail "diff: $(cat out.txt)"
! grep -q '^y' out.txt || fail "diff: $(cat out.txt)"
! "$octet" ranges diff a.json b.json --json --tolerance 3 >out.txt || fail "diff --json"
! grep -q '"x"' out.txt || fail "--tolerance: $(cat out.txt)"
refused "--tolerance" "$octet" ranges diff a.json b.json --tolerance -1
refused "no-such" "$octet" ranges show no-such.json
