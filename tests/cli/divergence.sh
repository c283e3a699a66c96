#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training that ends far above where it began says so, exits 1 and writes no model, unless one was kept that is better or
# the user wants it; --resume without a checkpoint says that it starts over.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

python3 - <<'PY'
import arrays, random
random.seed(1)
N = 256
labels = [i % 10 for i in range(N)]
x = [random.random() + (1 if k % 10 == labels[i] else 0) for i in range(N) for k in range(784)]
arrays.npz("images.npz", x=("<f4", (N, 1, 28, 28), x), y=("<i8", (N,), labels))
PY
train=("$octet" train cnn --data npz:images.npz --batch 32 --no-validation --threads 1 --channels1 2 --channels2 4 --hidden 8 --dropout 0)
trains "${train[@]}" --steps 12 -o good.onnx
[ ! -s err.txt ] || grep -q "^epoch" err.txt || fail "a word about a good run: $(cat err.txt)"

# diverges EXPECTED OUTPUT ARGUMENTS...: exit 1, the reason in the last line
diverges() {
  local expected=$1 output=$2 rc=0
  shift 2
  "${train[@]}" "$@" -o "$output" >out.txt 2>err.txt || rc=$?
  [ $rc = 1 ] || fail "$*: exit $rc: $(cat err.txt)"
  tail -n 1 err.txt | grep -qF -- "$expected" || fail "$*: $(cat err.txt)"
  [ ! -e "$output.checkpoint" ] || fail "$*: a checkpoint was left"
}
diverges "no model was written (--keep-diverged writes it)" lost.onnx --lr 1000 --steps 16
grep -q "training diverged: the loss is .* at step 16, it began at 2\.[0-9]*, and guessing gives 2.303; .*it is 1000: try a tenth" err.txt || fail "$(cat err.txt)"
[ ! -e lost.onnx ] || fail "a useless model was written"
# The only step that was too long has no loss after it.
diverges "no model was written" one.onnx --lr 1000 --steps 1 --schedule constant
[ ! -e one.onnx ] || fail "a useless model was written after one step"
diverges "asked.onnx was written all the same" asked.onnx --lr 1000 --steps 16 --keep-diverged
"$octet" eval asked.onnx --data npz:images.npz --latency-runs 0 --json >eval.json
# SGD of a linear rate ends at inf or nan.
rc=0
"${train[@]}" --optimizer sgd --lr 1000 --schedule constant --epochs 4 -o inf.onnx >out.txt 2>err.txt || rc=$?
[ $rc = 1 ] && [ ! -e inf.onnx ] || fail "sgd: exit $rc: $(cat err.txt)"
# Nothing stays of a loss that is no number, so that the next run wants no --force.
rc=0
"${train[@]}" --optimizer sgd --lr 1000 --schedule constant --clip-norm 0 --epochs 40 --checkpoint-steps 1 -o nan.onnx >out.txt 2>err.txt || rc=$?
[ $rc = 1 ] && [ ! -e nan.onnx ] || fail "nan: exit $rc: $(cat err.txt)"
tail -n 1 err.txt | grep -q "train: the loss is" || fail "nan: $(tail -n 1 err.txt)"
[ ! -e nan.onnx.checkpoint ] || fail "nan: a checkpoint was left"

# The best model of a run that got worse and worse is kept: a warm-up that is good at first.
rc=0
"${train[@]}" --validation-split 0.25 --evaluate-steps 1 --optimizer sgd --lr 1000 --schedule linear --warmup 1 --epochs 40 -o best.onnx >out.txt 2>err.txt || rc=$?
[ $rc = 1 ] || fail "best: exit $rc: $(cat err.txt)"
if [ -e best.onnx ]; then
  tail -n 1 err.txt | grep -q "best.onnx is the best model, that after step" || fail "best: $(tail -n 1 err.txt)"
  "$octet" eval best.onnx --data npz:images.npz --latency-runs 0 --json >eval.json
  python3 -c 'import json; r = json.load(open("eval.json"))[0]; assert r["accuracy"] >= 0.1, r'
else
  fail "no best model: $(cat err.txt)"
fi

# Quantization-aware training goes the same way.
rc=0
"$octet" qat good.onnx --data npz:images.npz --no-validation --lr 1000 --steps 8 --threads 1 -o qat.onnx >out.txt 2>err.txt || rc=$?
[ $rc = 1 ] && [ ! -e qat.onnx ] || fail "qat: exit $rc: $(cat err.txt)"

"${train[@]}" --steps 2 --resume -o again.onnx >out.txt 2>err.txt
grep -qF -- "--resume: there is no checkpoint again.onnx.checkpoint, so the run starts from the beginning" err.txt || fail "resume: $(cat err.txt)"
