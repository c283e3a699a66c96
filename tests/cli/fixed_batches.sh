#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Models that fix the size of a batch answer for any number of examples what the same model with an open batch answers.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

python3 - <<'PY'
import arrays, math
def rows(n): return ("<f4", (n, 4), [math.sin(0.7 * i * i) for i in range(4 * n)])
def classes(n): return ("<i8", (n,), [i * i % 3 for i in range(n)])
def numbers(n): return ("<f4", (n, 3), [math.cos(i) for i in range(3 * n)])
for name, n in (("many", 40), ("few", 5)):
    arrays.npz(f"{name}.npz", x_train=rows(64), x_test=rows(n), labels_train=classes(64), labels_test=classes(n))
    arrays.npz(f"{name}_numbers.npz", x_train=rows(64), x_test=rows(n), labels_train=numbers(64), labels_test=numbers(n))
PY
# model SIZE NAME
model() {
  cat >"$2.txt" <<TEXT
graph g opset(""=17)
input x: f32[$1, 4]
const w: f32[4, 4] = [1, -2, 3, -4, 5, 6, -7, 8, 1, 1, 2, -3, 5, -8, 1, 3]
const v: f32[4, 3] = [1, 0.5, -3, -4, 1, 2, -1, 1, 1, 1, 2, -3]
h = MatMul(x, w) "first"
r = Relu(h)
y = MatMul(r, v) "second"
output y: f32[$1, 3]
TEXT
  "$octet" assemble "$2.txt" -o "$2.onnx"
  "$octet" quantize "$2.onnx" --data npz:many.npz -o "$2.int8.onnx" >/dev/null
}
model 16 fixed
model N open

# same COMMAND...: what it prints for `fixed` and for `open`, but for times and names
same() {
  local each
  for each in fixed open; do
    "$octet" "${@//MODEL/$each}" --json >"$each.out" 2>err.txt || fail "$* of $each: $(cat err.txt)"
  done
  python3 - <<'PY' || fail "$*: $(diff fixed.out open.out | head -20)"
import json, sys
def kept(x):
    if isinstance(x, dict):
        return {k: kept(v) for k, v in x.items() if k in ("accuracy", "samples", "matthews", "mean_square_error", "mean_absolute_error", "r2")}
    return [kept(v) for v in x] if isinstance(x, list) else x
fixed, open_ = (kept(json.load(open(f"{name}.out"))) for name in ("fixed", "open"))
sys.exit(not fixed or fixed != open_)
PY
}
for data in many few; do
  same eval MODEL.onnx --data npz:$data.npz
  same eval MODEL.onnx --data npz:${data}_numbers.npz
  for each in fixed open; do
    "$octet" predict $each.onnx --data npz:$data.npz >$each.out 2>err.txt || fail "predict: $(cat err.txt)"
    "$octet" certify $each.int8.onnx --data npz:$data.npz >/dev/null 2>err.txt || [ $? = 1 ] || fail "certify: $(cat err.txt)"
    "$octet" lock $each.int8.onnx --data npz:$data.npz -o $each.$data.lock.json >/dev/null 2>err.txt || fail "lock: $(cat err.txt)"
    "$octet" verify $each.$data.lock.json >/dev/null 2>err.txt || fail "verify: $(cat err.txt)"
  done
  cmp fixed.out open.out || fail "predict of $data"
done
