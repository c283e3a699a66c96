#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# With --json there is nothing but JSON on the standard output, also where a table was asked for beside it.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

cat >two.txt <<'TEXT'
graph g opset(""=17)
input x: f32[V, 2]
const w: f32[2, 2] = [1, 2, 3, 4]
y = MatMul(x, w) "product"
output y: f32[V, 2]
TEXT
"$octet" assemble two.txt -o two.onnx
# is_json WORD COMMAND...: WORD is on the standard error
is_json() {
  local word=$1
  shift
  "$@" --json >out.txt 2>err.txt || fail "$*: $(cat err.txt)"
  python3 -m json.tool out.txt >/dev/null || fail "$*: not JSON: $(cat out.txt)"
  grep -qF -- "$word" err.txt || fail "$*: no table: $(cat err.txt)"
}
is_json "product" "$octet" quantize two.onnx --mode dynamic --explain -o dynamic.onnx
is_json "product" "$octet" bench two.onnx --plan --seconds 0 --shape x=3x2

# Arrays that count different things.
python3 - <<'PY'
import arrays
arrays.npz("graph.npz", x=("<f4", (5, 2), [0.5] * 10), edges=("<i8", (2, 7), [0] * 14))
PY
refused "stack examples along one more axis in front" "$octet" quantize two.onnx --data npz:graph.npz -o no.onnx
