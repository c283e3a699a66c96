#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What qat takes: a file in training mode is trained and written for inference, as train does it; a model that the target refuses as it is
# is refused before it is trained, as quantize does it.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

python3 - <<'PY'
import arrays, math
arrays.npz("data.npz", x=("<f4", (32, 4), [math.sin(0.7 * i * i) for i in range(128)]), y=("<i8", (32,), [i * i % 3 for i in range(32)]))
arrays.npz("planes.npz", x=("<f4", (8, 4, 2, 2), [math.sin(0.7 * i * i) for i in range(128)]), y=("<i8", (8,), [i % 4 for i in range(8)]))
PY
cat >drops.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 4]
const w: f32[4, 4] = init
const v: f32[4, 3] = init
const ratio: f32[] = [0.5]
const training: bool[] = [1]
h = MatMul(x, w) "first"
d = Dropout(h, ratio, training) "drops"
y = MatMul(d, v) "second"
output y: f32[N, 3]
TEXT
"$octet" assemble drops.txt -o drops.onnx
sed '/^d = /d; s/MatMul(d/MatMul(h/; /^const ratio/d; /^const training/d' drops.txt >plain.txt
"$octet" assemble plain.txt -o plain.onnx
train=(--data npz:data.npz --epochs 1 --batch 8 --threads 1 --no-checkpoint)
"$octet" qat drops.onnx "${train[@]}" --distill -o drops.int8.onnx 2>err.txt >/dev/null || fail "qat of a file in training mode: $(cat err.txt)"
"$octet" inspect drops.int8.onnx --text | grep -q 'Dropout(.*training' && fail "what was written drops"
"$octet" qat plain.onnx "${train[@]}" --teacher drops.onnx -o taught.onnx 2>err.txt >/dev/null || fail "qat with a teacher in training mode: $(cat err.txt)"

cat >groups.txt <<'TEXT'
graph g opset(""=20)
input x: f32[N, 4, 2, 2]
const k: f32[4, 4, 1, 1] = init
const gain: f32[2] = [1, 1]
const bias: f32[2] = [0, 0]
c = Conv(x, k)
g = GroupNormalization(c, gain, bias) {num_groups=2} "groups"
m = GlobalAveragePool(g)
y = Flatten(m)
output y: f32[N, 4]
TEXT
"$octet" assemble groups.txt -o groups.onnx
exits 1 'onnxruntime refuses it as it is: GroupNormalization "groups"' "$octet" qat groups.onnx --data npz:planes.npz --batch 4 --target onnxruntime -o groups.int8.onnx
test ! -e groups.int8.onnx
