#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A file that a command reads is never what it writes: under its own name, a relative one, a symbolic or a hard link, in a
# folder that would be replaced, with --force and without, in every command that writes.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

cat >float.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
y = MatMul(x, w) "product"
output y: f32[N, 4]
TEXT
"$octet" assemble float.txt -o float.onnx
python3 - <<'PY'
import arrays
values = [0.1 * i for i in range(32)]
arrays.npz("data.npz", x=("<f4", (8, 4), values), y=("<i8", (8,), [i % 4 for i in range(8)]))
arrays.npy("x.npy", "<f4", (8, 4), values)
PY
"$octet" quantize float.onnx --data npz:data.npz -o int8.onnx >/dev/null
"$octet" calibrate float.onnx --data npz:data.npz -o ranges.json >/dev/null
"$octet" quantize float.onnx --data npz:data.npz --save-plan plan.json -o second.onnx >/dev/null
mkdir folder bert texts
cp float.onnx folder/model.onnx
printf 'a\nb\nc\nd\n' >folder/labels.txt
ln -s float.onnx symbolic.onnx
ln float.onnx hard.onnx
printf 'one two three\nfour five six\n' >texts/vocab.txt
printf 'label\ttext\n0\tgood film\n1\tbad film\n' >films.tsv
cp films.tsv texts/films.tsv
mkdir kept && cp -r float.onnx int8.onnx data.npz x.npy ranges.json plan.json folder texts float.txt films.tsv kept/

# destroys NOTHING: the command is refused as it is and with --force
destroys() {
  refused "which the command uses too" "$octet" "$@"
  refused "which the command uses too" "$octet" "$@" --force
}

for output in float.onnx ./float.onnx "$work/folder/../float.onnx" symbolic.onnx hard.onnx; do
  destroys quantize float.onnx --data npz:data.npz -o "$output"
done
destroys quantize hard.onnx --mode weight-only -o symbolic.onnx
destroys quantize float.onnx --data npz:data.npz -o data.npz
destroys quantize float.onnx --data npy:x=x.npy -o x.npy
destroys quantize float.onnx --ranges ranges.json -o ranges.json
destroys quantize float.onnx --plan plan.json -o plan.json
destroys quantize float.onnx --data npz:data.npz -o new.onnx --save-plan float.onnx
destroys quantize float.onnx --data npz:data.npz -o new.onnx --save-plan ./new.onnx
destroys quantize folder --mode weight-only -o folder
destroys quantize folder/ --mode weight-only -o folder/model.onnx
destroys quantize folder/model.onnx --mode weight-only -o folder/
destroys calibrate float.onnx --data npz:data.npz -o float.onnx
destroys calibrate folder --data npz:data.npz -o folder/labels.txt
destroys repair int8.onnx --target tensorrt-10 -o int8.onnx
destroys repair int8.onnx --target tensorrt-10 --data npz:data.npz -o data.npz
destroys certify int8.onnx -o int8.onnx
destroys export int8.onnx -o int8.onnx
destroys simplify float.onnx -o float.onnx
destroys assemble float.txt -o float.txt
destroys assemble float.txt --weights float.onnx -o symbolic.onnx
destroys run float.onnx --input x=x.npy -o x.npy
destroys run float.onnx --input x=x.npy -o float.onnx
destroys run float.onnx --inputs data.npz -o data.npz
destroys eval float.onnx --data npz:data.npz --report data.npz
destroys eval int8.onnx float.onnx --data npz:data.npz --report hard.onnx
destroys import hf folder -o folder
destroys export hf folder -o folder
destroys qat float.onnx --data npz:data.npz -o float.onnx
destroys train cnn --data npz:data.npz -o data.npz
destroys train bert --data "tsv:films.tsv?text=text&label=label" -o films.tsv
destroys train bert --data tsv:texts/films.tsv --vocab texts/vocab.txt -o texts
destroys train bert --from folder --data tsv:films.tsv -o folder
destroys pretrain bert --text texts/vocab.txt -o texts/vocab.txt
destroys train vocabulary --text texts/vocab.txt -o texts
printf 'output = "options.toml"\nmode = "weight-only"\n' >options.toml
destroys quantize float.onnx --config options.toml
for file in float.onnx int8.onnx data.npz x.npy ranges.json plan.json float.txt films.tsv; do
  cmp "$file" "kept/$file"
done
diff -r folder kept/folder
diff -r texts kept/texts

# What is only near an input is none: another file of the same folder, a name that also stands in an option.
"$octet" quantize folder --mode weight-only -o folder/int8.onnx >/dev/null
"$octet" quantize folder --mode weight-only -o folder/int8.onnx --force >/dev/null
"$octet" calibrate float.onnx --data npz:data.npz -o npz >/dev/null
"$octet" simplify float.onnx --force -o /dev/null >/dev/null
