#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Steps of plans on the command line: asked for, printed, saved, edited, left out, refused.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1

"$octet" train cnn --data generated --steps 40 --seed 1 --no-checkpoint --no-validation -o cnn.onnx >/dev/null
quantize=("$octet" quantize cnn.onnx --samples 64 --weight-bits 4 --force)

# Asked for and printed. (The default calibrator leaves steps out with which it measures worse outputs.)
"${quantize[@]}" --data generated --calibrator min-max --steps smooth,correct-bias --explain --save-plan plan.json -o steps.onnx >printed
grep -q '^smooth/fc1 .* float ' printed || fail "smooth/fc1 is not printed: $(cat printed)"
grep -q '^correct-bias/conv1 .* bias ' printed || fail "correct-bias/conv1 is not printed"
"$octet" explain cnn.onnx --data generated --steps smooth --samples 64 --weight-bits 4 --calibrator min-max | grep -q '^smooth/fc1 ' ||
  fail "explain prints no steps"

# Saved, with long vectors beside, and applied without data to the same file.
[ -s plan.npz ] || fail "no plan.npz"
"${quantize[@]}" --plan plan.json -o again.onnx >/dev/null
cmp steps.onnx again.onnx || fail "the saved plan gives another file"
"$octet" debug again.onnx --data generated --limit 20 >/dev/null || fail "debug: $(cat printed)"

# Plans without steps stay one file of version 1.
"${quantize[@]}" --data generated --save-plan plain.json -o plain.onnx >/dev/null
[ ! -e plain.npz ] || fail "a plan without steps has numbers beside it"
grep -q '"octet_plan": 1' plain.json || fail "a plan without steps is not of version 1"
cmp -s plain.onnx steps.onnx && fail "steps change nothing"

# Biases that are corrected by means are no step: the plan stays one file, whatever threads, batches and processor made it.
for choice in yes no; do
  "${quantize[@]}" --data generated --calibrator min-max --correct-biases $choice --explain --save-plan $choice.json -o $choice.onnx >$choice.txt
  OCTET_ISA=scalar "${quantize[@]}" --data generated --calibrator min-max --correct-biases $choice --threads 2 --batch 5 --save-plan again.json -o again.onnx >/dev/null
  cmp $choice.json again.json || fail "means depend on threads, batches or instruction sets"
  cmp $choice.onnx again.onnx || fail "corrected biases depend on threads, batches or instruction sets"
done
grep -q 'its means correct biases behind it' yes.txt || fail "means are not printed: $(cat yes.txt)"
grep -q '"means"' yes.json || fail "the plan has no means"
grep -q '"means"' no.json && fail "the plan has means that nobody asked for"
[ ! -e yes.npz ] || fail "a plan with means has numbers beside it"
cmp -s yes.onnx no.onnx && fail "means change nothing"
"${quantize[@]}" --plan yes.json -o again.onnx >/dev/null
cmp yes.onnx again.onnx || fail "the saved plan gives another file"
"$octet" debug again.onnx --data generated --limit 20 >/dev/null || fail "debug of corrected biases"
refused "correct-biases" "$octet" quantize cnn.onnx --data generated --correct-biases perhaps -o x.onnx
refused "biases are corrected in static quantization, not in the dynamic mode" "$octet" quantize cnn.onnx --mode dynamic --correct-biases yes -o x.onnx

# Left out, with what was fitted behind it, and edited.
"${quantize[@]}" --plan plan.json --exclude-steps 'correct-bias/conv2' -o fewer.onnx >/dev/null 2>left_out
grep -qx 'left out too, as they were fitted behind a step that is: correct-bias/fc1, correct-bias/fc2' left_out ||
  fail "what was left out is not listed: $(cat left_out)"
cmp -s fewer.onnx steps.onnx && fail "leaving steps out changes nothing"
python3 - <<'PY'
import json

plan = json.load(open("plan.json"))
last = plan["steps"][-1]
assert last["id"] == "correct-bias/fc2" and len(last["delta"]) == 10, last
last["delta"][0] += 1
json.dump(plan, open("edited.json", "w"))
PY
cp plan.npz edited.npz
"${quantize[@]}" --plan edited.json -o edited.onnx >/dev/null
cmp -s edited.onnx steps.onnx && fail "an edited number changes nothing"
"${quantize[@]}" --data generated --steps smooth,correct-bias --exclude-steps 'smooth/*' --save-plan none.json -o none.onnx >/dev/null
grep -q '"id": "smooth/' none.json && fail "steps that are left out are in the plan"

# Codes that are chosen for each layer's output, with any number of threads, and again without data.
for step in seq-mse adaround gptq; do
  "${quantize[@]}" --data generated --steps "equalize,$step" --threads 1 --explain --save-plan "$step.json" -o "$step.onnx" >printed
  grep -q "^$step/conv2 .* weights " printed || fail "$step/conv2 is not printed: $(cat printed)"
  OCTET_ISA=scalar "${quantize[@]}" --data generated --steps "equalize,$step" --threads 2 --batch 7 --save-plan "$step.2.json" -o "$step.2.onnx" >/dev/null
  cmp "$step.npz" "$step.2.npz" || fail "$step: codes depend on threads, batches or instruction sets"
  cmp "$step.onnx" "$step.2.onnx" || fail "$step: the file depends on threads, batches or instruction sets"
  "${quantize[@]}" --plan "$step.json" -o again.onnx >/dev/null
  cmp "$step.onnx" again.onnx || fail "$step: the saved plan gives another file"
  "$octet" debug again.onnx --data generated --limit 20 >/dev/null || fail "debug of $step"
  "${quantize[@]}" --mode weight-only --data generated --steps "$step" --save-plan "w$step.json" -o "w$step.onnx" >/dev/null
  "${quantize[@]}" --plan "w$step.json" -o again.onnx >/dev/null
  cmp "w$step.onnx" again.onnx || fail "$step: the saved plan of weights alone gives another file"
done
# Codes that are learned for the outputs of blocks: the same ones every time, and again without data.
learned=("${quantize[@]}" --data generated --steps reconstruct)
"${learned[@]}" --threads 1 --explain --save-plan learned.json -o learned.onnx >printed
grep -q '^reconstruct/conv2 .* weights ' printed || fail "reconstruct/conv2 is not printed: $(cat printed)"
"${learned[@]}" --threads 2 -o again.onnx >/dev/null
cmp learned.onnx again.onnx || fail "reconstruct: a second run, on two threads, gives another file"
"${quantize[@]}" --plan learned.json -o again.onnx >/dev/null
cmp learned.onnx again.onnx || fail "reconstruct: the saved plan gives another file"
"${learned[@]}" --exclude-steps 'reconstruct/conv?' --save-plan fewer.json -o fewer.onnx >/dev/null
grep -q '"id": "reconstruct/fc1"' fewer.json || fail "reconstruct leaves fc1 out"
grep -q '"id": "reconstruct/conv' fewer.json && fail "blocks that are left out are in the plan"
"$octet" debug learned.onnx --data generated --limit 20 >/dev/null || fail "debug of reconstruct"

# Batch normalization that is estimated again, behind codes that were chosen.
"$octet" train cnn --data generated --steps 40 --seed 1 --batch-norm --no-checkpoint --no-validation -o norm.onnx >/dev/null
norm=("$octet" quantize norm.onnx --samples 64 --weight-bits 3 --force)
"${norm[@]}" --data generated --steps gptq,reestimate-bn --threads 1 --explain --save-plan norm.json -o norm.int3.onnx >printed
grep -q '^reestimate-bn/conv1 .* bias ' printed || fail "reestimate-bn/conv1 is not printed: $(cat printed)"
OCTET_ISA=scalar "${norm[@]}" --data generated --steps gptq,reestimate-bn --threads 2 --batch 7 --save-plan norm.2.json -o norm.2.onnx >/dev/null
cmp norm.int3.onnx norm.2.onnx || fail "reestimate-bn: the file depends on threads, batches or instruction sets"
"${norm[@]}" --plan norm.json -o again.onnx >/dev/null
cmp norm.int3.onnx again.onnx || fail "reestimate-bn: the saved plan gives another file"
"${norm[@]}" --plan norm.json --exclude-steps 'reestimate-bn/*' -o fewer.onnx >/dev/null
cmp -s norm.int3.onnx fewer.onnx && fail "leaving reestimate-bn out changes nothing"
"$octet" debug again.onnx --data generated --limit 20 >/dev/null || fail "debug of reestimate-bn"
"$octet" qat norm.onnx --data generated --plan norm.json --steps 2 --no-checkpoint --no-validation -o trained.onnx >/dev/null
"$octet" debug trained.onnx --data generated --limit 20 >/dev/null || fail "what was trained behind reestimate-bn does not run as it says"
refused 'matches no step' "${quantize[@]}" --data generated --steps reestimate-bn --exclude-steps 'reestimate-bn/*' -o x.onnx

# The same in blocks and on grids of floating-point numbers.
for form in int4/16:gptq int4/32:adaround mxfp4:gptq fp8-e4m3fn:adaround; do
  name=${form//[:\/]/-}
  blocks=("$octet" quantize cnn.onnx --samples 64 --force --mode weight-only)
  "${blocks[@]}" --data generated --weights "${form%:*}" --steps "${form#*:}" --threads 1 --save-plan "$name.json" -o "$name.onnx" >/dev/null
  grep -q "\"id\": \"${form#*:}/fc1\"" "$name.json" || fail "$form: no step for fc1"
  OCTET_ISA=scalar "${blocks[@]}" --data generated --weights "${form%:*}" --steps "${form#*:}" --threads 2 --batch 7 -o "$name.2.onnx" >/dev/null
  cmp "$name.onnx" "$name.2.onnx" || fail "$form: the file depends on threads, batches or instruction sets"
  "${blocks[@]}" --plan "$name.json" -o again.onnx >/dev/null
  cmp "$name.onnx" again.onnx || fail "$form: the saved plan gives another file"
done
"${quantize[@]}" --plan gptq.json --exclude-steps 'gptq/fc?' -o fewer.onnx >/dev/null
cmp -s fewer.onnx gptq.onnx && fail "leaving codes out changes nothing"
"$octet" qat cnn.onnx --data generated --plan adaround.json --steps 2 --no-checkpoint --no-validation -o rounded.onnx >/dev/null
refused 'data set' "${quantize[@]}" --mode weight-only --steps gptq -o x.onnx

# Ranges of weights that leave the largest out.
"${quantize[@]}" --data generated --weight-calibrator mse --save-plan mse.json -o mse.onnx >/dev/null
grep -q '"algorithm": "mse"' mse.json || fail "weights have no ranges by mse"
cmp -s mse.onnx plain.onnx && fail "--weight-calibrator changes nothing"
refused 'unknown calibrator' "${quantize[@]}" --data generated --weight-calibrator msa -o x.onnx

# Training takes a plan with steps.
"$octet" qat cnn.onnx --data generated --plan edited.json --steps 2 --no-checkpoint --no-validation -o qat.onnx >/dev/null
"$octet" debug qat.onnx --data generated --limit 20 >/dev/null || fail "what was trained with steps does not run as it says"

# Numbers beside a plan are no reason to lose other files.
cp plan.npz other.npz
refused 'other.npz' "$octet" quantize cnn.onnx --data generated --samples 8 --steps smooth --save-plan other.json -o x.onnx
"$octet" quantize cnn.onnx --data generated --samples 8 --save-plan other.json -o x.onnx >/dev/null
cmp plan.npz other.npz || fail "a plan without steps changed other.npz"

# Refused.
refused 'unknown step "smoth"; there are equalize, smooth' "${quantize[@]}" --data generated --steps smoth -o x.onnx
refused 'steps are for static quantization, not for the dynamic mode' \
  "${quantize[@]}" --mode dynamic --steps smooth -o x.onnx
refused 'has its steps already' "${quantize[@]}" --plan plan.json --steps smooth -o x.onnx
refused 'matches no step' "${quantize[@]}" --plan plan.json --exclude-steps 'smooth/nobody' -o x.onnx
refused 'matches no step' "${quantize[@]}" --data generated --steps smooth --exclude-steps 'smooth/nobody' -o x.onnx
refused 'make the plan again without it' "${quantize[@]}" --plan plan.json --exclude-steps 'smooth/*' -o x.onnx
refused 'steps are left out of a plan that takes none' "${quantize[@]}" --data generated --exclude-steps '*' -o x.onnx
rm plan.npz
refused 'plan.npz' "${quantize[@]}" --plan plan.json -o x.onnx
