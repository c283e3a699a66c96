#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Options of the command: counts that make no sense are refused, lists take as many values as their help says, what
# cannot be read is told as what it is.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

cat >two.txt <<'TEXT'
graph g opset(""=17)
input a: f32[2, 2]
input b: f32[2, 2]
y = Add(a, b) "sum"
output y: f32[2, 2]
TEXT
"$octet" assemble two.txt -o two.onnx
cat >one.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 2]
y = Relu(x)
output y: f32[N, 2]
TEXT
"$octet" assemble one.txt -o one.onnx
python3 - <<'PY'
import arrays
arrays.npy("a.npy", "<f4", (2, 2), [1, 2, 3, 4])
arrays.npy("b.npy", "<f4", (2, 2), [10, 20, 30, 40])
arrays.npy("double.npy", "<f8", (2, 2), [-1, 0.1, 1e-9, 3])
arrays.npy("whole.npy", "<i8", (2, 2), [-1, 0, 2, 2**24 + 1])
arrays.npz("data.npz", x=("<f4", (4, 2), [1, 2, 3, 1, 0, 5, 7, 1]), y=("<i8", (4,), [1, 0, 1, 0]))
PY
data=(--data npz:data.npz)

# Counts and numbers.
for option in --limit=-5 --limit=-1 --latency-runs=-1 --batch=0 --batch=-2 --threads=-1 --threads=100000; do
  refused "is out of range; give " "$octet" eval one.onnx "${data[@]}" "$option"
done
refused "--limit: -5 is out of range; give 0 or more" "$octet" eval one.onnx "${data[@]}" --limit -5
refused '--limit: "many" is no whole number; give 0 or more' "$octet" eval one.onnx "${data[@]}" --limit many
refused '"1.5" is no whole number' "$octet" eval one.onnx "${data[@]}" --limit 1.5
refused '--limit: 99999999999999999999 is out of range; give 0 to ' "$octet" eval one.onnx "${data[@]}" --limit 99999999999999999999
for command in "quantize one.onnx -o q.onnx" "calibrate one.onnx -o r.json" "repair one.onnx --target octet -o r.onnx" "qat one.onnx -o q.onnx"; do
  # shellcheck disable=SC2086
  refused "--samples: -3 is out of range; give 0 or more" "$octet" $command "${data[@]}" --samples -3
done
refused "--limit: -1 is out of range" "$octet" debug one.onnx "${data[@]}" --limit -1
refused "--limit: 0 is out of range" "$octet" certify one.onnx "${data[@]}" --limit 0
refused "--max-steps: -2 is out of range" "$octet" simplify one.onnx -o s.onnx --max-steps -2
refused "--max-elements: -1 is out of range" "$octet" inspect one.onnx --text --max-elements -1
refused "--epoch: -1 is out of range" "$octet" data show reviews --epoch -1
refused "--size: -5 is out of range" "$octet" train vocabulary --text one.txt -o v --size -5
refused "--min-frequency: 0 is out of range" "$octet" train vocabulary --text one.txt -o v --min-frequency 0
for option in --checkpoint-steps=-1 --steps=-1 --epochs=0 --hidden=0 --channels1=-8 --dropout=nan --dropout=1 --lr=nan --lr=-1 \
  --weight-decay=-1 --clip-norm=nan --label-smoothing=2 --validation-split=nan --warmup=-0.1 --patience=-1; do
  refused "${option%%=*}: ${option#*=} is out of range" "$octet" train cnn -o c.onnx "$option"
done
refused '--depthwise: "0" is no width; widths from 1 to 65536 by commas' "$octet" train cnn -o c.onnx --depthwise 8,0
refused '--depthwise: "8x" is no width' "$octet" train cnn -o c.onnx --depthwise 8x
refused "--hidden is of what --depthwise replaces" "$octet" train cnn -o c.onnx --depthwise 8 --hidden 9
refused "--seconds: nan is out of range" "$octet" bench one.onnx --seconds nan
refused "--tolerance: nan is out of range" "$octet" simplify one.onnx -o s.onnx --verify 1 --tolerance nan
[ -z "$(find . -name '[cqrsv].*' -o -name v)" ] || fail "something was written: $(ls)"

# Quantizing and training take as many bits.
for command in quantize qat; do
  "$octet" $command --help >help.txt
  grep -q "weight-bits INT:.*2 to 8" help.txt || fail "$command --help: $(grep bits help.txt)"
  refused "--weight-bits: 1 is out of range" "$octet" $command one.onnx "${data[@]}" --weight-bits 1 -o q.onnx
  refused "--activation-bits: 9 is out of range" "$octet" $command one.onnx "${data[@]}" --activation-bits 9 -o q.onnx
done

# Lists: several values, before or behind the model.
sum() { # sum ARGUMENTS...: runs two.onnx; the first value of the sum is 1 + 10
  rm -f out.npz
  "$octet" run "$@" -o out.npz
  python3 -c 'import struct, sys, zipfile; d = zipfile.ZipFile("out.npz").read("y.npy"); sys.exit(struct.unpack("<4f", d[-16:]) != (11, 22, 33, 44))'
}
sum two.onnx --input a=a.npy b=b.npy
sum --input a=a.npy b=b.npy two.onnx
sum --input a=a.npy --input b=b.npy two.onnx
sum two.onnx --input a=a.npy --input=b=b.npy
sum --input a=a.npy b=b.npy --threads 1 two.onnx
"$octet" eval one.onnx "${data[@]}" --executor native reference --latency-runs 0 --json >eval.json
[ "$(grep -c '"executor"' eval.json)" = 2 ] || fail "two executors: $(cat eval.json)"
"$octet" eval "${data[@]}" --latency-runs 0 --json --executor native reference one.onnx one.onnx >eval.json
[ "$(grep -c '"executor"' eval.json)" = 4 ] || fail "two models and two executors: $(cat eval.json)"
"$octet" simplify two.onnx --drop-input a b -o none.onnx --json >dropped.json
[ "$(grep -c '"replaced_by"' dropped.json)" = 2 ] || fail "two dropped inputs: $(cat dropped.json)"

printf 'input = ["a=a.npy", "b=b.npy"]\n' >list.toml
sum two.onnx --config list.toml
# A positional list takes all of its values, also where CLI11's policy for options is the last one.
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\nfilm\ngood\n' >vocab.txt
printf 'film\n' >film.txt
printf 'good\n' >good.txt
[ "$("$octet" tokenize film.txt good.txt --vocab vocab.txt)" = "$(printf '2 4 3\n2 5 3')" ] || fail "tokenize takes one file of two"
"$octet" train vocabulary --text film.txt good.txt --size 40 --min-frequency 1 -o learned >/dev/null
for letter in f '##m' g '##d'; do
  grep -qxF -- "$letter" learned/vocab.txt || fail "train vocabulary takes one file of two: $(cat learned/vocab.txt)"
done

# Element types of npy files.
"$octet" run one.onnx --input x=double.npy -o double.npz 2>err.txt
grep -qF 'input "x" is f64, the model takes f32: converted' err.txt || fail "a conversion without a word: $(cat err.txt)"
python3 -c 'import struct, sys, zipfile; d = zipfile.ZipFile("double.npz").read("y.npy"); sys.exit(d[-16:] != struct.pack("<4f", 0, 0.1, 1e-9, 3))'
refused 'input "x": values of type i64 do not fit into f32' "$octet" run one.onnx --input x=whole.npy -o whole.npz

# How fast.
"$octet" bench one.onnx --seconds 0 --json >bench.json
grep -qF '"runs": 1,' bench.json || fail "no time is one run: $(cat bench.json)"
for executor in native reference; do
  "$octet" bench one.onnx --executor $executor --seconds 0.01 --json >bench.json
  grep -qF "\"executor\": \"$executor\"" bench.json || fail "$executor: $(cat bench.json)"
done
refused 'unknown executor "referenc"; did you mean "reference"?' "$octet" bench one.onnx --executor referenc
refused "--plan is of the native executor" "$octet" bench one.onnx --executor reference --plan
refused "--profile is of the native executor" "$octet" bench one.onnx --executor reference --profile

"$octet" bench one.onnx --sizes N=2:20:3 --seconds 0.05 --json >bench.json
grep -qF '"plans": 1,' bench.json || fail "sizes need no more than one plan: $(cat bench.json)"
grep -qF '"layouts": 1,' bench.json || fail "sizes up to the largest need no other layout: $(cat bench.json)"
python3 -c 'import json; s = {r["sizes"]["N"] for r in json.load(open("bench.json"))["runs"]}; assert s == set(range(2, 21, 3)), s'
"$octet" bench one.onnx --sizes N=1:1 --seconds 0 >out.txt
grep -qF "1 run; 1 plan, 1 binding, memory laid out 1 time" out.txt || fail "bench --sizes: $(cat out.txt)"
for sizes in N N=4 N=0:4 N=5:4 N=1:4:0 N=1:4:1:1 N=1:x; do
  refused "--sizes \"$sizes\": write NAME=LOW:HIGH" "$octet" bench one.onnx --sizes $sizes
done
refused 'no input has an open size "M"; known are N' "$octet" bench one.onnx --sizes M=1:4
refused "leave out --shape" "$octet" bench one.onnx --sizes N=1:4 --shape x=1x2
refused "--sizes is of the native executor" "$octet" bench one.onnx --executor reference --sizes N=1:4

# Names and files that are something else.
refused 'unknown target "tensorrt"; did you mean "tensorrt-11' "$octet" check one.onnx --target tensorrt
refused 'unknown target "onnxruntime-"; did you mean "onnxruntime-1.' "$octet" check one.onnx --target onnxruntime-
printf 'hello world, this is text\n' >text.onnx
refused 'text.onnx: is text and no ONNX model; it begins "hello world' "$octet" inspect text.onnx
printf '{"a": 1}\n' >json.onnx
refused 'json.onnx: is text and no ONNX model' "$octet" inspect json.onnx
cp data.npz zip.onnx
refused 'zip.onnx: is a zip archive' "$octet" inspect zip.onnx
head -c $(($(stat -c %s two.onnx) - 20)) two.onnx >short.onnx
printf '\177ELF\001\002' >binary.onnx
refused 'binary.onnx: is no ONNX model: byte 1:' "$octet" inspect binary.onnx
refused "short.onnx: is cut short at $(stat -c %s short.onnx) bytes or damaged" "$octet" inspect short.onnx

# Class names by the thousand fill no screen.
mkdir many
cat >ids.txt <<'TEXT'
graph g opset(""=17)
input input_ids: i64[N, S]
const axes: i64[1] = [1]
f = Cast(input_ids) {to=1}
y = ReduceSum(f, axes) {keepdims=1}
output y: f32[N, 1]
TEXT
"$octet" assemble ids.txt -o many/model.onnx
python3 - <<'PY'
names = [f"class number {i} with a long name" for i in range(3000)]
open("many/labels.txt", "w").write("\n".join(names) + "\n")
open("many.tsv", "w").write("label\ttext\n" + "".join(f"{n}\ta\n" for n in reversed(names)))
PY
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n' >many/vocab.txt
refused "bring them into one order" "$octet" eval many --data "tsv:many.tsv?text=text&label=label"
[ "$(wc -c <err.txt)" -lt 1500 ] || fail "an error of $(wc -c <err.txt) bytes"
