#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `octet pack` from the command line: run, bench and eval use what it writes, with the same bits, and say why they do not.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

cat >model.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 3]
const w: f32[3, 4] = [0.5, 0.25, 0.125, 7, 8, 9, 1, 2, 3, 4, 5, 6]
y = MatMul(x, w)
output y: f32[N, 4]
TEXT
"$octet" assemble model.txt -o model.onnx >/dev/null
python3 - <<'PY'
import struct
data = struct.pack("<6f", 1, 2, 3, -4, 0.5, 6)
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
header += b" " * (-(len(header) + 11) % 64) + b"\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
PY
"$octet" run model.onnx --input x=x.npy -o plain.npz

"$octet" pack model.onnx >said.txt
grep -q 'model.octetpack: 1 packed weights' said.txt
"$octet" pack --verify model.octetpack | grep -q 'model.octetpack: whole'
"$octet" run model.onnx --input x=x.npy -o beside.npz 2>warnings.txt
"$octet" run model.octetpack --input x=x.npy -o stored.npz 2>>warnings.txt
test ! -s warnings.txt
cmp plain.npz beside.npz
cmp plain.npz stored.npz
"$octet" bench model.octetpack --seconds 0 --json >/dev/null

# A store that is there is kept without --force.
if "$octet" pack model.onnx 2>errors.txt; then exit 1; fi
grep -q 'model.octetpack: exists; use --force' errors.txt
"$octet" pack model.onnx --force --json | grep -q '"packs": 1'

# Another model: a warning, and its own numbers.
sed 's/0.125/0.25/' model.txt >other.txt
"$octet" assemble other.txt -o model.onnx --force >/dev/null
"$octet" run model.onnx --input x=x.npy -o other.npz 2>warnings.txt
grep -q 'is not what it was made of; octet pack .*model.onnx --force' warnings.txt
if cmp -s plain.npz other.npz; then exit 1; fi

# Damage: a warning where the model is there, an error where it is not.
printf 'x' | dd of=model.octetpack bs=1 seek=4100 conv=notrunc 2>/dev/null
if "$octet" pack --verify model.octetpack 2>errors.txt; then exit 1; fi
grep -q 'damaged' errors.txt
"$octet" run model.onnx --input x=x.npy -o damaged.npz 2>warnings.txt
grep -q 'damaged' warnings.txt
rm model.onnx
if "$octet" run model.octetpack --input x=x.npy -o none.npz 2>errors.txt; then exit 1; fi
grep -q 'damaged' errors.txt

# What is behind a global pool of images of any size keeps the shape that it has.
cat >gate.txt <<'TEXT'
graph g opset(""=17)
input x: f32[n, 4, h, w]
p = GlobalAveragePool(x)
s = Sigmoid(p)
y = Mul(x, s)
const parts: i64[2] = [1, 3]
a, b = Split(y, parts) {axis=1}
c = Exp(a)
output c: f32[n, 1, h, w]
output b: f32[n, 3, h, w]
TEXT
"$octet" assemble gate.txt -o gate.onnx >/dev/null
"$octet" pack gate.onnx >/dev/null
