#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training through fewer than 8 bits: by options, by a saved plan, layer by layer, with learned scales. What is written has codes of
# that many bits, runs as it says, and is better than what calibration alone gives.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

"$octet" train cnn --data generated --steps 40 --seed 1 --no-checkpoint --no-validation -o cnn.onnx >/dev/null
quantize=("$octet" quantize cnn.onnx --data generated --samples 64)
train=("$octet" qat cnn.onnx --data generated --steps 30 --batch 64 --no-checkpoint --no-validation)

# correct MODEL: right answers of 1000
correct() {
  "$octet" eval "$1" --data generated --limit 1000 --latency-runs 0 --json 2>/dev/null |
    python3 -c 'import json, sys; e = json.load(sys.stdin)[0]; print(round(e["accuracy"] * e["samples"]))'
}
# weights MODEL: the bits that the codes of the four weights take
weights() {
  "$octet" export "$1" --form qcdq --log --force -o stated.onnx |
    sed -n 's/^ *clip \(.*\)\.weight_quantized: \(.\) bits.*/\1:\2/p' | tr '\n' ' '
}
# compare POST QAT BITS: the same codes, better answers, and it runs as the file says
compare() {
  [ "$(weights "$1")" = "$3" ] || fail "$1 has weights of $(weights "$1")"
  [ "$(weights "$2")" = "$3" ] || fail "$2 has weights of $(weights "$2")"
  [ "$("$octet" inspect "$1" | grep -w Clip)" = "$("$octet" inspect "$2" | grep -w Clip)" ] || fail "$2 has other Clips than $1"
  [ "$(correct "$2")" -gt "$(correct "$1")" ] || fail "training does not help: $(correct "$1") to $(correct "$2") right"
  "$octet" debug "$2" --data generated --limit 20 >/dev/null || fail "$2 does not run as it says"
}

# A saved plan.
"${quantize[@]}" --weight-bits 4 --activation-bits 6 --save-plan plan.json -o post.onnx >/dev/null
"${train[@]}" --plan plan.json -o qat.onnx >/dev/null
compare post.onnx qat.onnx "conv1:4 conv2:4 fc1:4 fc2:4 "

# Options, layer by layer.
layers=(--weight-bits 5 --layer 'conv2:weights=2' 'fc*:weights=3,activations=6')
"${quantize[@]}" "${layers[@]}" -o layers.onnx >/dev/null
"${train[@]}" --samples 64 "${layers[@]}" -o layers.qat.onnx >/dev/null
compare layers.onnx layers.qat.onnx "conv1:5 conv2:2 fc1:3 fc2:3 "

# Learned scales leave some weights beyond the codes.
"${train[@]}" --plan plan.json --learned-scales -o learned.onnx >/dev/null
compare post.onnx learned.onnx "conv1:4 conv2:4 fc1:4 fc2:4 "
