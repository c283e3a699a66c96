#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many examples a run takes changes no range but those of moving averages.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

cat >model.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 1, 28, 28]
r = Relu(x)
t = Tanh(r)
output t: f32[N, 1, 28, 28]
TEXT
"$octet" assemble model.txt -o model.onnx

for batch in 1 7 64; do
  for calibrator in min-max entropy percentile mse; do
    "$octet" calibrate model.onnx --data generated --samples 30 --batch $batch --calibrator $calibrator -o $calibrator.$batch >/dev/null
    cmp $calibrator.$batch $calibrator.1 || fail "$calibrator: batches of $batch give other ranges"
  done
  "$octet" calibrate model.onnx --data generated --samples 30 --batch $batch --calibrator moving-average -o average.$batch >/dev/null
done
"$octet" calibrate model.onnx --data generated --samples 30 -o auto.1 >/dev/null
cmp auto.1 min-max.1 || fail "auto clips where there is no product to measure"
! cmp -s average.1 average.7 || fail "--batch does nothing"
refused "--batch" "$octet" calibrate model.onnx --data generated --batch 0 -o none
refused "--batch" "$octet" quantize model.onnx --data generated --batch 70000 -o none
