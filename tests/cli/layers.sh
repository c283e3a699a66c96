#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats and calibrators of single layers: on the command line and in a configuration, in the plan, refused.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

cat >model.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 1, 28, 28]
const v: f32[2, 1, 3, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, -6, -7, -8, -9]
const w: f32[2, 2, 1, 1] = [1, 2, 3, -4]
a = Conv(x, v) "enc:oder.0/conv"
y = Conv(a, w) "encoder.1/conv"
output y: f32[N, 2, 26, 26]
TEXT
"$octet" assemble model.txt -o model.onnx
quantize=("$octet" quantize model.onnx --data generated --samples 8 --force -o int8.onnx)

# formats PLAN: value:bits:axis of the weights
formats() {
  python3 -c '
import json, sys
for t in json.load(open(sys.argv[1]))["tensors"]:
    if t["value"] in "vw":
        print(t["value"], t.get("bits", 8), t["axis"])' "$1"
}
"${quantize[@]}" --layer 'enc:oder.0*:weights=4,per=tensor' --layer 'encoder.1*:weights=5' --save-plan one.json >/dev/null
[ "$(formats one.json)" = $'v 4 None\nw 5 0' ] || fail "$(formats one.json)"
printf 'layer = ["Conv:weights=3", "encoder.1*:per=tensor"]\n' >layers.toml
"${quantize[@]}" --config layers.toml --save-plan two.json >/dev/null
[ "$(formats two.json)" = $'v 3 0\nw 3 None' ] || fail "$(formats two.json)"
# activations PLAN: value:bits:calibrator
activations() {
  python3 -c '
import json, sys
for t in json.load(open(sys.argv[1]))["tensors"]:
    if t["value"] in ("x", "a"):
        print(t["value"], t.get("bits", 8), t["algorithm"])' "$1"
}
"${quantize[@]}" --calibrator min-max --activation-bits 7 --layer 'enc:oder.0*:activations=5,weights=4' 'encoder.1*:calibrator=percentile:99.5' --save-plan three.json >/dev/null
[ "$(activations three.json)" = $'x 5 min-max\na 7 percentile:99.5' ] || fail "$(activations three.json)"
[ "$(formats three.json)" = $'v 4 0\nw 8 0' ] || fail "$(formats three.json)"
printf 'layer = ["Conv:activations=6", "encoder.1*:calibrator=mse,activations=3"]\n' >layers.toml
"${quantize[@]}" --calibrator min-max --config layers.toml --save-plan four.json >/dev/null
[ "$(activations four.json)" = $'x 6 min-max\na 3 mse' ] || fail "$(activations four.json)"
"$octet" debug int8.onnx --data generated --limit 8 >/dev/null || fail "what has layers of 3 bits does not run as it says"

# Formats of their own: in the plan, in the file, in the last lines.
"${quantize[@]}" --layer 'enc:oder.0*:weights=fp8-e5m2,activations=fp8-e4m3fn' 'encoder.1*:weights=int4' --save-plan five.json >out.txt
python3 -c '
import json
plan = {t["value"]: (t["type"], t["algorithm"]) for t in json.load(open("five.json"))["tensors"]}
assert plan["v"] == ("f8e5m2", "direct") and plan["x"][0] == "f8e4m3fn" and plan["w"][0] == "i4" and plan["a"][0] == "i8", plan'
grep -q '2 of 2 nodes in fp8-e5m2, int4, fp8-e4m3fn, int8 for octet' out.txt || fail "$(cat out.txt)"
grep -q 'octet: loads it, 18.2 % of the multiply-adds in 8 bits' out.txt || fail "$(cat out.txt)"
"$octet" debug int8.onnx --data generated --limit 8 >/dev/null || fail "what mixes formats does not run as it says"
"${quantize[@]}" --plan five.json >again.txt
cmp out.txt again.txt || fail "the plan is not applied as it was made"
"${quantize[@]}" --target tensorrt-10 --weights fp8-e4m3fn --activations fp8-e4m3fn >out.txt
grep -q 'tensorrt-10: loads it, 100.0 % of the multiply-adds in FP8' out.txt || fail "$(cat out.txt)"

refused 'names no pattern; write PATTERN:weights=4' "${quantize[@]}" --layer 'weights=4'
refused 'weights have 2 to 8 bits' "${quantize[@]}" --layer 'Conv:weights=9'
refused 'unknown number format "int5"' "${quantize[@]}" --layer 'Conv:weights=int5'
refused '"format=fp8" says nothing that can be chosen for a layer; there are weights=BITS' "${quantize[@]}" --layer 'Conv:format=fp8'
refused 'did you mean "fp8-e4m3fn"' "${quantize[@]}" --layer 'Conv:activations=fp8-e4m3'
refused 'leave --weight-bits out beside a format' "${quantize[@]}" --weights int4 --weight-bits 4
refused 'takes no weights in fp8-e5m2; it takes int8, fp8-e4m3fn, int4' "${quantize[@]}" --target tensorrt-10 --weights fp8-e5m2
refused 'unknown calibrator "entrpy"; use min-max' "${quantize[@]}" --layer 'Conv:calibrator=entrpy'
refused 'p = 20 is out of bounds' "${quantize[@]}" --layer 'Conv:calibrator=percentile:20'
refused 'not for the weight-only mode' "${quantize[@]}" --mode weight-only --layer 'Conv:activations=4'
refused 'takes activations of 8 bits only' "${quantize[@]}" --target tensorrt-10 --layer 'Conv:activations=4'
refused 'matches no node and no operator' "${quantize[@]}" --layer 'Cnv:weights=4'
