#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# octet debug and view of models that fix the size of a batch: any number of examples is looked at, whatever --batch and
# --limit say; and of models that have no axis for examples: examples are counted, not rows.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

python3 - <<'PY'
import arrays, math
def rows(n, scale): return ("<f4", (n, 4), [scale * math.sin(0.7 * i) for i in range(4 * n)])
arrays.npz("many.npz", x_train=rows(64, 1), x_test=rows(40, 0.9))
arrays.npz("few.npz", x_train=rows(64, 1), x_test=rows(5, 0.9))
PY
# model SIZE: y = (x w) w for batches of SIZE
model() {
  cat >"$1.txt" <<TEXT
graph g opset(""=17)
input x: f32[$1, 4]
const w: f32[4, 4] = [1, -2, 3, -4, 5, 6, -7, 8, 1, 1, 2, -3, 5, -8, 1, 3]
h = MatMul(x, w) "first"
y = MatMul(h, w) "second"
output y: f32[$1, 4]
TEXT
  "$octet" assemble "$1.txt" -o "$1.onnx"
  "$octet" quantize "$1.onnx" --data npz:many.npz -o "$1.int8.onnx" >/dev/null
}
model 16
model 1

# Two models: whole batches, as many as there are in the first examples, one at least.
# looks EXAMPLES MODEL ARGUMENTS...: that many are looked at
looks() {
  local examples=$1 model=$2
  shift 2
  "$octet" debug "$model.onnx" "$model.int8.onnx" "$@" --remedies 1 --json >out.txt 2>err.txt || fail "debug $model $*: $(cat err.txt)"
  tr -d ' \n' <out.txt | grep -qF "\"examples\":$examples," || fail "debug $model $*: not $examples examples"
}
looks 32 16 --data npz:many.npz
looks 32 16 --data npz:many.npz --batch 16
looks 16 16 --data npz:many.npz --batch 16 --limit 20
looks 16 16 --data npz:many.npz --limit 1
looks 16 16 --data npz:few.npz
looks 40 1 --data npz:many.npz --batch 1
"$octet" view 16.onnx 16.int8.onnx --data npz:many.npz --limit 3 -o view.html >/dev/null 2>err.txt || fail "view: $(cat err.txt)"

# One model: each example counts once.
for limit in 1 20 0; do
  "$octet" debug 16.int8.onnx --data npz:many.npz --limit $limit --json >out.txt 2>err.txt || fail "debug --limit $limit: $(cat err.txt)"
  total=$((limit > 0 ? limit : 40))
  tr -d ' \n' <out.txt | grep -qF "\"examples\":$total,\"identical\":$total," || fail "debug --limit $limit: $(cat out.txt)"
done
"$octet" debug 16.int8.onnx --data npz:few.npz >/dev/null || fail "fewer examples than a batch"

# An example is all that the model takes.
cat >graph.txt <<'TEXT'
graph g opset(""=17)
input nodes: f32[V, 4]
input edges: i64[E]
const w: f32[4, 4] = [1, -2, 3, -4, 5, 6, -7, 8, 1, 1, 2, -3, 5, -8, 1, 3]
h = MatMul(nodes, w) "first"
g = Gather(h, edges)
y = MatMul(g, w) "second"
output y: f32[E, 4]
TEXT
"$octet" assemble graph.txt -o graph.onnx
python3 - <<'PY'
import arrays, math
def nodes(n): return ("<f4", (n, 10, 4), [math.sin(0.3 * i) for i in range(n * 40)])
def edges(n): return ("<i8", (n, 7), [3 * i % 10 for i in range(n * 7)])
arrays.npz("graphs.npz", nodes_train=nodes(24), edges_train=edges(24), nodes_test=nodes(6), edges_test=edges(6))
PY
"$octet" quantize graph.onnx --data npz:graphs.npz -o graph.int8.onnx >/dev/null
"$octet" debug graph.onnx graph.int8.onnx --data npz:graphs.npz --remedies 1 >out.txt 2>err.txt || fail "graphs: $(cat err.txt)"
grep -qF "over 6 examples of" out.txt || fail "not 6 examples: $(cat out.txt)"
grep -qF "in float, over 6 examples; gains measured on 1 examples held back" out.txt || fail "not 1 held back: $(cat out.txt)"
"$octet" debug graph.onnx graph.int8.onnx --data npz:graphs.npz --remedies 1 --json >out.txt
[ "$(tr -d ' \n' <out.txt | grep -oF '"examples":6,' | wc -l)" = 2 ] || fail "examples: $(cat out.txt)"
