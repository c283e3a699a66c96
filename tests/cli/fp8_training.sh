#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training in FP8 by the command: it learns, says how in its record, goes on after a stop with the same bytes, and refuses what it is not for.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

train=("$octet" train cnn --data generated --batch 64 --seed 1 --threads 1 --no-validation)
fp8=(--precision fp8 --fp8-history 4 --fp8-margin 1)
"${train[@]}" "${fp8[@]}" --steps 120 --no-checkpoint --json -o fp8.onnx >record.json
python3 - <<'PY'
import json
recipe = json.load(open("record.json"))["recipe"]
wanted = {"precision": "fp8", "FP8 scaling": "delayed", "FP8 history": 4, "FP8 margin": 1, "FP8 amax": "max"}
assert {k: recipe[k] for k in wanted} == wanted, recipe
PY
# right MODEL: answers of 1000
right() {
  "$octet" eval "$1" --data generated --limit 1000 --latency-runs 0 --json 2>/dev/null |
    python3 -c 'import json, sys; e = json.load(sys.stdin)[0]; print(round(e["accuracy"] * e["samples"]))'
}
"${train[@]}" --steps 120 --no-checkpoint -o f32.onnx >/dev/null
[ "$(right fp8.onnx)" -gt $(($(right f32.onnx) - 50)) ] || fail "$(right fp8.onnx) of 1000 right in FP8, $(right f32.onnx) in f32"
cmp -s fp8.onnx f32.onnx && fail "FP8 gives what f32 gives"

# Stopped by a signal, then resumed.
"${train[@]}" "${fp8[@]}" --steps 120 --checkpoint-steps 1 -o stopped.onnx >/dev/null 2>&1 &
pid=$!
for _ in $(seq 200); do [ -e stopped.onnx.checkpoint ] && break; sleep 0.05; done
kill -TERM $pid 2>/dev/null || true
wait $pid || true
"${train[@]}" "${fp8[@]}" --steps 120 --checkpoint-steps 1 --resume --force -o stopped.onnx >/dev/null 2>&1
cmp -s fp8.onnx stopped.onnx || fail "a run that was stopped and resumed gives another model"

"${train[@]}" --precision fp8 --fp8-scaling current --steps 4 --no-checkpoint -o current.onnx >/dev/null
cmp -s fp8.onnx current.onnx && fail "current scaling gives what delayed scaling gives"
refused "--fp8-scaling is for --precision fp8" "${train[@]}" --fp8-scaling current --steps 1 --no-checkpoint -o no.onnx
refused 'FP8 scaling "currant" is not known' "${train[@]}" --precision fp8 --fp8-scaling currant --steps 1 --no-checkpoint -o no.onnx
refused "FP8 training is of float graphs" "$octet" qat fp8.onnx --data generated --samples 16 --steps 1 --no-checkpoint --no-validation \
  --precision fp8 -o no.onnx
[ ! -e no.onnx ] || fail "a refused run wrote a model"
