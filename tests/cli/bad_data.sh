#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Data that do not belong to a model are found before anything is computed: labels, class names, nan, names of arrays.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

# model FILE CLASSES [INPUT]
model() {
  local weights
  weights=$(seq -s ', ' $((2 * $2)))
  cat >"$1.txt" <<TEXT
graph g opset(""=17)
input ${3:-x}: f32[N, 2]
const w: f32[2, $2] = [$weights]
y = MatMul(${3:-x}, w) "product"
output y: f32[N, $2]
TEXT
  "$octet" assemble "$1.txt" -o "$1"
}
model three.onnx 3
model five.onnx 5
model named.onnx 3 pixels
mkdir folder && cp three.onnx folder/model.onnx && printf 'cat\ndog\nfox\n' >folder/labels.txt
python3 - <<'PY'
import arrays, math
N = 12
x = ("<f4", (N, 2), [0.25 * i for i in range(2 * N)])
nan = ("<f4", (N, 2), [math.nan if i == 15 else 1.0 for i in range(2 * N)])
def y(values): return ("<i8", (N,), [values[i % len(values)] for i in range(N)])
arrays.npz("good.npz", x=x, y=y([0, 1, 2]))
arrays.npz("shifted.npz", x=x, y=y([1, 2, 3]))
arrays.npz("upper.npz", x=x, y=y([1, 2]))
arrays.npz("nan.npz", x=nan, y=y([0, 1, 2]))
arrays.npz("nan8.npz", x=("<f8", nan[1], nan[2]), y=y([0, 1, 2]))
arrays.npz("infinite.npz", x=("<f4", (N, 2), [math.inf if i == 15 else 1.0 + i for i in range(2 * N)]))
arrays.npz("zeros.npz", x=("<f4", (N, 2), [0.0] * (2 * N)))
arrays.npz("late.npz", x_train=x, y_train=y([0, 1]), x_test=x, y_test=y([0, 1, 2]))
arrays.npz("gap.npz", x_train=x, y_train=y([0, 2]), x_test=x, y_test=y([0, 1]))
arrays.npz("unlabelled.npz", x_train=x, y_train=y([0, 1]), x_test=x)
arrays.npz("typo.npz", x=x, lables=y([0, 1, 2]))
arrays.npz("typo_test.npz", x_train=x, y_train=y([0, 1, 2]), x_test=x, y_tset=y([0, 1, 2]))
arrays.npz("upper_case.npz", x=x, Y=y([0, 1, 2]))
arrays.npz("more.npz", x=x, y=y([0, 1, 2]), recorded=y([7]))
arrays.npz("other.npz", images=x, y=y([0, 1, 2]))
PY
eval=("$octet" eval --latency-runs 0)

# Labels.
"${eval[@]}" three.onnx --data npz:good.npz >/dev/null 2>err.txt
[ ! -s err.txt ] || fail "a word about good data: $(cat err.txt)"
refused "label 3 is out of range: the model's output \"y\" tells 3 apart, 0 to 2; the labels count from 1, subtract 1" \
  "${eval[@]}" three.onnx --data npz:shifted.npz
refused "label 3 is out of range" "$octet" qat three.onnx --data npz:shifted.npz --steps 1 -o q.onnx
"${eval[@]}" three.onnx --data npz:upper.npz >/dev/null 2>err.txt
grep -qF "npz:upper.npz: no example has the label 0, the least is 1; labels count from 0" err.txt || fail "no label 0: $(cat err.txt)"
refused "npz:late.npz: the test data have labels that no training example has, so nothing can learn them: 2; --no-validation" \
  "$octet" qat three.onnx --data npz:late.npz --steps 1 -o q.onnx
refused "no training example has, so nothing can learn them: 1;" "$octet" qat three.onnx --data npz:gap.npz --steps 1 -o q.onnx
refused "the test data have no labels, the training data have" "$octet" qat three.onnx --data npz:unlabelled.npz --steps 1 -o q.onnx

# Every model is looked at before the first one is run.
sed -e 's/f32\[N, 2\]/f32[N, 4]/; s/f32\[2, 3\]/f32[4, 3]/; s/= \[.*\]/= [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]/' three.onnx.txt >wide.txt
"$octet" assemble wide.txt -o wide.onnx
refused 'wide.onnx: feature "x" f32[1, 2] does not fit input "x" f32[N, 4]: dimension 1 is 2, the model wants 4' \
  "${eval[@]}" three.onnx wide.onnx --data npz:good.npz
refused 'unknown executor "nativ"' "${eval[@]}" three.onnx --data npz:good.npz --executor reference nativ

# Not a number.
for command in "eval three.onnx --latency-runs 0" "quantize three.onnx -o q.onnx" "calibrate three.onnx -o r.json" \
  "qat three.onnx --steps 1 -o q.onnx" "data show"; do
  for file in nan nan8; do
    data="--data npz:$file.npz"
    if [ "$command" = "data show" ]; then data="npz:$file.npz"; fi
    # shellcheck disable=SC2086
    "$octet" $command $data >out.txt 2>err.txt && fail "$command takes nan"
    grep -qF 'array "x" holds nan in example 7' err.txt || fail "$command: $(cat err.txt)"
  done
done
[ -z "$(find . -name '[cqr].onnx' -o -name r.json)" ] || fail "something was written: $(ls)"

# Infinite: fine where the model takes it, and named where it makes something that is no number.
cat >difference.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 2]
const w: f32[2, 2] = [1, 2, 3, 4]
d = Sub(x, x)
y = MatMul(d, w) "product"
output y: f32[N, 2]
TEXT
"$octet" assemble difference.txt -o difference.onnx
for command in "quantize difference.onnx -o q.onnx" "calibrate difference.onnx -o r.json"; do
  # shellcheck disable=SC2086
  "$octet" $command --data npz:infinite.npz >out.txt 2>err.txt && fail "$command takes what becomes nan"
  grep -qF 'infinite.npz, 12 examples: "x" is infinite in example 7' err.txt || fail "$command: $(cat err.txt)"
done

# One number everywhere.
for command in "quantize three.onnx -o zeros.int8.onnx" "calibrate three.onnx -o zeros.json"; do
  # shellcheck disable=SC2086
  "$octet" $command --data npz:zeros.npz >out.txt 2>err.txt || fail "$command: $(cat err.txt)"
  grep -qF 'warning: "x" is 0 everywhere in what was read' err.txt || fail "$command: no warning: $(cat err.txt)"
  # shellcheck disable=SC2086
  "$octet" $command --data npz:good.npz --force >out.txt 2>err.txt
  if grep -q everywhere err.txt; then fail "$command: a word about good data: $(cat err.txt)"; fi
done

# Names of arrays.
refused 'npz:typo.npz: nothing takes the array "lables"; did you mean "labels"?' "${eval[@]}" three.onnx --data npz:typo.npz
refused 'nothing takes the array "y_tset"; did you mean "y_test"?' "$octet" qat three.onnx --data npz:typo_test.npz --steps 1 -o q.onnx
refused 'nothing takes the array "Y"; did you mean "y"?' "${eval[@]}" three.onnx --data npz:upper_case.npz
"${eval[@]}" three.onnx --data npz:more.npz >/dev/null 2>err.txt
grep -qF 'npz:more.npz: nothing takes the array "recorded"; it is left out' err.txt || fail "an array that nothing takes: $(cat err.txt)"
"${eval[@]}" named.onnx --data npz:other.npz >/dev/null 2>err.txt
grep -qF 'npz:other.npz: array "images" is taken for the input "pixels", by its place' err.txt || fail "another name: $(cat err.txt)"

# Class names: numbers stand for any, none in common is told, some in common cannot be.
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n' >folder/vocab.txt
cat >text.txt <<'TEXT'
graph g opset(""=17)
input input_ids: i64[N, S]
const w: f32[1, 3] = [1, 2, 3]
const axes: i64[1] = [1]
f = Cast(input_ids) {to=1}
s = ReduceSum(f, axes) {keepdims=1}
y = MatMul(s, w)
output y: f32[N, 3]
TEXT
"$octet" assemble text.txt -o folder/model.onnx --force
# texts NAME...: a set of these classes, in this order
texts() {
  printf 'label\ttext\n' >texts.tsv
  for name in "$@"; do printf '%s\ta b\n' "$name" >>texts.tsv; done
  data="tsv:texts.tsv?text=text&label=label&classes=$(IFS=,; echo "$*")"
}
texts Cat dog FOX
# What eval says of labels: the model sums its tokens and is told to run with padding.
labels_said() {
  "${eval[@]}" folder --data "$data" >/dev/null 2>all.txt
  grep -qF 'folder: runs with padding: ' all.txt || fail "padding: $(cat all.txt)"
  grep -vF 'folder: runs with padding: ' all.txt >err.txt || true
}
labels_said
[ ! -s err.txt ] || fail "the same names: $(cat err.txt)"
texts 0 1 2
labels_said
[ ! -s err.txt ] || fail "numbers: $(cat err.txt)"
texts chat chien renard
labels_said
grep -qF "folder: its labels cat, dog, fox are taken for chat, chien, renard" err.txt || fail "other names: $(cat err.txt)"
texts dog cat fox
refused "bring them into one order" "${eval[@]}" folder --data "$data"
texts cat dog wolf
refused "only some names are the same, so they are not made for each other" "${eval[@]}" folder --data "$data"
