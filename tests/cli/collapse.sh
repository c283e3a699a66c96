#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quantize says where little is left of the outputs, in every mode that has data to measure it with.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

# Two products, of which the second takes out what the first adds: a code is as large as what is left. `good` adds nothing.
model() {
  cat >"$1.txt" <<TEXT
graph g opset(""=17)
input x: f32[N, 2]
const w: f32[2, 4] = [1, 0, $2, $2, 0, 1, $2, $2]
const v: f32[4, 2] = [1, 0, 0, 1, $2, $2, -$2, -$2]
h = MatMul(x, w) "first"
y = MatMul(h, v) "second"
output y: f32[N, 2]
TEXT
  "$octet" assemble "$1.txt" -o "$1.onnx"
}
model bad 1000.3
model good 1
python3 - <<'PY'
import arrays, math
arrays.npz("data.npz", x=("<f4", (48, 2), [math.sin(0.7 * i) for i in range(96)]))
PY
for mode in static dynamic weight-only; do
  quantize=("$octet" quantize --mode $mode --weight-bits 4 --calibrator min-max --force)
  "${quantize[@]}" bad.onnx --data npz:data.npz -o with.onnx >/dev/null 2>err.txt
  grep -qE "bad.onnx: warning: the outputs are at -?[0-9.]+ dB, .* on 32 examples of the calibration data" err.txt || fail "$mode: no warning: $(cat err.txt)"
  grep -qF "octet debug bad.onnx QUANTIZED --data npz:data.npz" err.txt || fail "$mode: no advice: $(cat err.txt)"
  if [ $mode = static ]; then continue; fi
  "${quantize[@]}" bad.onnx -o without.onnx >/dev/null 2>err.txt
  if grep -q warning err.txt; then fail "$mode: measured without data"; fi
done
"$octet" quantize good.onnx --mode dynamic --data npz:data.npz -o good8.onnx >/dev/null 2>err.txt
if grep -q warning err.txt; then fail "a warning of a good file: $(cat err.txt)"; fi
# With auto it is measured already.
"$octet" quantize bad.onnx --weight-bits 4 --data npz:data.npz -o auto.onnx --force >/dev/null 2>err.txt
[ "$(grep -c "warning: " err.txt)" = 1 ] || fail "not one warning: $(cat err.txt)"
grep -qF "with the best ranges found" err.txt || fail "$(cat err.txt)"
# In 8 bits, which nobody asked to be fewer, the layer that costs it stays in float, and that is said.
"$octet" quantize bad.onnx --data npz:data.npz -o auto8.onnx --force >/dev/null 2>err.txt
grep -qE "bad.onnx: layers in float: [a-z]+; with them in codes the outputs are at -?[0-9.]+ dB, so at [0-9.]+ dB" err.txt || fail "$(cat err.txt)"
if grep -q warning err.txt; then fail "a warning of what was mended: $(cat err.txt)"; fi
# Where the examples of a batch meet, they are calibrated alone, and that is said.
cat >mixed.txt <<TEXT
graph g opset(""=17)
input x: f32[N, 2]
const w: f32[2, 4] = [1, 0, 2, -2, 0, 1, 0.5, 0.25]
m = ReduceMax(x) {keepdims=0}
d = Sub(x, m)
y = MatMul(d, w) "product"
output y: f32[N, 4]
TEXT
"$octet" assemble mixed.txt -o mixed.onnx
for calibrator in auto min-max; do
  "$octet" quantize mixed.onnx --data npz:data.npz --calibrator $calibrator -o mixed8.onnx --save-plan mixed.json --force >/dev/null 2>err.txt
  grep -qF "mixed.onnx: what it computes for an example depends on the others of a batch" err.txt || fail "$calibrator: $(cat err.txt)"
  "$octet" quantize mixed.onnx --data npz:data.npz --calibrator $calibrator --batch 1 -o alone8.onnx --save-plan alone.json --force >/dev/null 2>err.txt
  grep -v one_at_a_time mixed.json | diff - alone.json || fail "$calibrator: not as with --batch 1"
  "$octet" calibrate mixed.onnx --data npz:data.npz --calibrator $calibrator -o mixed.ranges --force >/dev/null 2>err.txt
  grep -qF "mixed.onnx: what it computes for an example depends on the others of a batch" err.txt || fail "calibrate, $calibrator: $(cat err.txt)"
  "$octet" calibrate mixed.onnx --data npz:data.npz --calibrator $calibrator --batch 1 -o alone.ranges --force >/dev/null 2>err.txt
  if grep -q "depends on" err.txt; then fail "said of one at a time: $(cat err.txt)"; fi
  diff mixed.ranges alone.ranges || fail "calibrate, $calibrator: not as with --batch 1"
done
