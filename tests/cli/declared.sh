#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A model that declares another shape than it computes: commands say so once and go on, --strict refuses, check says who
# minds, and what is written again declares what is computed.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

cat >right.txt <<'TEXT'
graph g opset(""=17)
input x: f32[77]
y = Relu(x)
output y: f32[77]
TEXT
"$octet" assemble right.txt -o right.onnx
sed 's/output y: f32\[77\]/output y: f32[78]/' right.txt >wrong.txt
refused '"y" is declared f32[78] but computes f32[77]' "$octet" assemble wrong.txt -o other.onnx
python3 - <<'PY'
import arrays
data = bytearray(open("right.onnx", "rb").read())
data[data.rfind(b"\x08\x4d") + 1] = 78 # the size of y
open("wrong.onnx", "wb").write(data)
arrays.npy("x.npy", "<f4", (77,), [i - 40.0 for i in range(77)])
PY

"$octet" run right.onnx --input x=x.npy -o right.npz 2>right.log
test ! -s right.log
"$octet" run wrong.onnx --input x=x.npy -o wrong.npz 2>wrong.log
test "$(grep -c 'is declared f32\[78\] but computes f32\[77\]' wrong.log)" = 1
cmp right.npz wrong.npz
refused 'leave out --strict' "$octet" run wrong.onnx --input x=x.npy -o strict.npz --strict
"$octet" run right.onnx --input x=x.npy -o strict.npz --strict

"$octet" check wrong.onnx --target onnxruntime >check.log
grep -q declared-shape check.log
"$octet" check wrong.onnx --target octet | grep -q declared-shape
refused 'leave out --strict' "$octet" check wrong.onnx --target octet --strict
"$octet" simplify wrong.onnx -o mended.onnx 2>/dev/null
"$octet" run mended.onnx --input x=x.npy -o mended.npz --strict
