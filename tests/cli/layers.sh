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

refused 'names no pattern; write PATTERN:weights=4' "${quantize[@]}" --layer 'weights=4'
refused 'weights have 2 to 8 bits' "${quantize[@]}" --layer 'Conv:weights=9'
refused 'weights have 2 to 8 bits' "${quantize[@]}" --layer 'Conv:weights=int4'
refused '"format=fp8" says nothing that can be chosen for a layer; there are weights=BITS' "${quantize[@]}" --layer 'Conv:format=fp8'
refused 'activations have 2 to 8 bits' "${quantize[@]}" --layer 'Conv:activations=int4'
refused 'unknown calibrator "entrpy"; use min-max' "${quantize[@]}" --layer 'Conv:calibrator=entrpy'
refused 'p = 20 is out of bounds' "${quantize[@]}" --layer 'Conv:calibrator=percentile:20'
refused 'not for the weight-only mode' "${quantize[@]}" --mode weight-only --layer 'Conv:activations=4'
refused 'takes activations of 8 bits only' "${quantize[@]}" --target tensorrt-10 --layer 'Conv:activations=4'
refused 'matches no node and no operator' "${quantize[@]}" --layer 'Cnv:weights=4'
