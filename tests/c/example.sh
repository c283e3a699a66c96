#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The example in C runs a model that the command made, and its weight store.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
cat >net.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 2]
const w: f32[2, 3] = [1, 2, 3, 4, 5, 6]
const b: f32[3] = [0.5, -1, 2]
h = MatMul(x, w)
y = Add(h, b)
output y: f32[N, 3]
TEXT
"$octet" assemble net.txt -o net.onnx
example=$OCTET_BUILD_DIR/bin/octet_example_run_model
"$example" net.onnx >out.txt
[ "$(sed 1d out.txt)" = $'x: f32[N, 2]\ny: f32 [1, 3] 0.5 -1 2' ] || fail "$(cat out.txt)"
# The same from the weight store beside it, and from the store alone.
"$octet" pack net.onnx >/dev/null
for model in net.onnx net.octetpack; do
  "$example" $model >again.txt
  cmp out.txt again.txt || fail "$model: $(cat again.txt)"
done
rc=0
"$example" none.onnx 2>err.txt || rc=$?
[ $rc = 1 ] && grep -q '^open: .*none.onnx' err.txt || fail "none.onnx: exit $rc, $(cat err.txt)"
