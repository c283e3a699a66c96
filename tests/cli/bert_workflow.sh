#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# BERT's workflow by commands at its smallest: train, quantize, train quantization-aware, evaluate, pretrain, resume to the
# same bytes, fill a mask, two processes; and what each command refuses before it reads or trains anything.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export XDG_CACHE_HOME=$work/cache

small=(--size 1x32 --vocab 150 --max-length 16 --dropout 0.1 --threads 1)
data=(--data "reviews?last=2")
trains "$octet" train bert "${data[@]}" "${small[@]}" --limit 64 --test-limit 32 --steps 2 -o float/
[ ! -e float.checkpoint ] || fail "the checkpoint of a finished run is still there"
grep -q '"model_max_length": 16' float/tokenizer_config.json || fail "no model_max_length"
for fact in '"data set": "reviews?last=2"' '"seed": 0' '"learning rate": 0.001' '"optimizer": "adamw"' '"size": "1x32"' '"examples": 64' '"octet"'; do
  grep -qF "$fact" float/training.json || fail "the training record lacks $fact"
done
if grep -q "nothing is learned" err.txt; then fail "two steps are no reason for an alarm"; fi

# 8 bits: the length of the rows is the trained one unless another is given.
"$octet" quantize float "${data[@]}" --samples 16 --threads 1 -o static/ >/dev/null 2>&1
"$octet" qat float "${data[@]}" --limit 64 --test-limit 32 --steps 2 --samples 16 --threads 1 -o qat/ >/dev/null 2>err.txt
grep -q "a BERT: --optimizer adamw --lr 5e-05 --batch 32" err.txt || fail "qat's recipe is not said: $(cat err.txt)"
"$octet" eval float static qat "${data[@]}" --limit 32 --latency-runs 0 --threads 1 --json >eval.json 2>/dev/null
grep -qF '"latency_ms_median": null' eval.json || fail "a latency that was not measured: $(cat eval.json)"
[ "$(grep -c '"accuracy"' eval.json)" = 3 ] || fail "eval: $(cat eval.json)"

# Without padding: the same predictions. Where that cannot be stderr says why.
"$octet" eval static "${data[@]}" --limit 32 --latency-runs 0 --threads 1 >/dev/null 2>err.txt
grep -q "static: runs with padding: sequences cannot be packed: node" err.txt || fail "one head: $(cat err.txt)"
"$octet" train bert "${data[@]}" --size 1x128 --vocab 150 --max-length 16 --threads 1 --limit 32 --test-limit 32 --steps 1 -o wide/ >/dev/null 2>&1
"$octet" eval wide "${data[@]}" --limit 32 --latency-runs 0 --threads 1 --json >packed.json 2>err.txt
if grep -q "runs with padding" err.txt; then fail "eval leaves padding in: $(cat err.txt)"; fi
"$octet" eval wide "${data[@]}" --limit 32 --latency-runs 0 --threads 1 --json --padded >padded.json 2>/dev/null
[ "$(grep -E '"accuracy"|"matthews"' padded.json)" = "$(grep -E '"accuracy"|"matthews"' packed.json)" ] ||
  fail "padding changes what is predicted: $(cat padded.json)"
printf '3,9,1\n12\n' >lengths.txt
"$octet" bench wide --lengths lengths.txt --padded --seconds 0 --threads 1 >bench.txt
for text in "2 batches, 4 sequences, 25 tokens" "packed: median" "padded: median"; do
  grep -qF "$text" bench.txt || fail "bench --lengths lacks \"$text\": $(cat bench.txt)"
done
refused '"0" is no length' "$octet" bench wide --lengths 3,0
refused "--padded goes with --lengths" "$octet" bench wide --padded
refused "--max-length is 600, the model has 512 positions" "$octet" eval float "${data[@]}" --max-length 600

# Labels in another order, and of another number.
printf 'label\ttext\nnegative\tbad film\npositive\tgood film\n' >names.tsv
printf 'label\ttext\n0\tbad film\n1\tgood film\n2\tso so\n' >three.tsv
cp -r float turned && printf 'positive\nnegative\n' >turned/labels.txt
refused "bring them into one order" "$octet" qat turned --data tsv:names.tsv -o no/
refused "bring them into one order" "$octet" train bert --from float --data "tsv:names.tsv?classes=positive,negative" -o no/
refused "has 2 labels" "$octet" qat float --data tsv:three.tsv -o no/
"$octet" train bert --from float --data tsv:three.tsv --max-length 16 --steps 1 --threads 1 -o three/ >/dev/null 2>err.txt
grep -q "starts with initial values: classifier.weight, classifier.bias" err.txt || fail "three classes: $(cat err.txt)"
[ "$(wc -l <three/labels.txt)" = 3 ] || fail "labels: $(cat three/labels.txt)"

# What would be refused at the end is refused at the beginning.
mkdir other && touch other/file
refused "is no model folder" "$octet" train bert "${data[@]}" --force -o other
refused "no/lm: the folder no does not exist" "$octet" train bert "${data[@]}" -o no/lm
still=(--validation-split 0.25 --evaluate-steps 1 --patience 1 --lr 1e-12 --steps 9)
"$octet" train bert "${data[@]}" "${small[@]}" --limit 32 --batch 4 "${still[@]}" -o still/ >still.txt 2>/dev/null
grep -q "in 2 steps, .*, stopped early; this is the model after step 1, the best one" still.txt || fail "early: $(cat still.txt)"
refused "--patience goes by held-out examples" "$octet" train bert "${data[@]}" --patience 2 -o no/
refused "--evaluate-steps has no examples" "$octet" pretrain bert --text reviews --evaluate-steps 2 -o no/
cp names.tsv copy.tsv
refused "copy.tsv: exists and is no checkpoint" "$octet" train bert "${data[@]}" --checkpoint copy.tsv --force -o no/
cmp names.tsv copy.tsv
refused "is quantized; qat trains the float model" "$octet" qat static "${data[@]}" -o no/
refused "is quantized; training starts from the float model" "$octet" train bert --from static "${data[@]}" -o no/
refused "name them with --data" "$octet" qat float -o no/
refused "--size is for new models" "$octet" train bert --from float "${data[@]}" --size mini -o no/
refused "--cased is for new models" "$octet" train bert --from float "${data[@]}" --cased -o no/
refused "write tsv:names.tsv" "$octet" train bert --data names.tsv -o no/
refused "there is no gone.csv" "$octet" eval float --data gone.csv
refused "jsonl:FILE" "$octet" eval float --data imbd:x
cp -r float foreign && seq -f 'word%.0f' 500 >>foreign/vocab.txt && rm foreign/tokenizer.json
refused "they do not belong together" "$octet" eval foreign "${data[@]}"
printf 'label\ttext\n0\tbad film\n1\tgood film\n2\tso so\n' >more.tsv
cp -r float unnamed && rm unnamed/labels.txt
refused "has 2 labels" "$octet" qat unnamed --data tsv:more.tsv --samples 3 --steps 1 --batch 4 --epochs 1 --lr 1e-4 --optimizer adamw -o no/
[ ! -e no ] || fail "something was written"

# Pretraining that is stopped goes on to the bytes of one that was not, on the same masks and pairs; on others it does not.
seq -f 'The film number %.0f is good. It has a plot. The end is bad.' 40 | sed G >text.txt
lm=(pretrain bert --text text.txt "${small[@]}" --batch 4 --checkpoint-steps 2)
"$octet" "${lm[@]}" --steps 6 -o whole/ >/dev/null 2>&1
for _ in 1 2 3 4 5 6 7 8 9 10; do # until it is killed between its first checkpoint and its end
  rm -rf lm lm.checkpoint
  "$octet" "${lm[@]}" --steps 6 -o lm/ >/dev/null 2>&1 &
  while [ ! -e lm.checkpoint ] && kill -0 $! 2>/dev/null; do sleep 0.005; done
  kill -9 $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  [ ! -e lm.checkpoint ] || break
done
[ -e lm.checkpoint ] || fail "it ended before it could be killed"
refused "--resume continues the run that left it, --force starts over" "$octet" "${lm[@]}" --steps 6 -o lm/
other=("$octet" "${lm[@]}" --steps 6 --resume -o lm/)
exits 2 "this run has mask rate 0.2, the checkpoint mask rate 0.15: take 0.15 to go on" "${other[@]}" --mask-rate 0.2
exits 2 "this run has whole words true, the checkpoint whole words false: take false" "${other[@]}" --whole-word
exits 2 "this run has seed 1, the checkpoint seed 0: take 0" "${other[@]}" --seed 1
exits 2 "this run has learning rate 0.001, the checkpoint learning rate 0.0005: take 0.0005" "${other[@]}" --lr 1e-3
sed 's/good/fair/' text.txt >fair.txt && cp text.txt kept.txt && cp fair.txt text.txt
exits 2 "the training data have another content" "${other[@]}"
cp kept.txt text.txt
"$octet" "${lm[@]}" --steps 6 --resume -o lm/ >/dev/null 2>&1
cmp whole/model.onnx lm/model.onnx
[ ! -e lm.checkpoint ] || fail "the checkpoint of a finished run is still there"
"$octet" fill-mask lm "the [MASK] is good" >fill.txt
grep -q "probability" fill.txt || fail "fill-mask: $(cat fill.txt)"
"$octet" fill-mask lm "[MASK] film is [MASK]" >fill.txt
grep -q "film is \[MASK\]" fill.txt || fail "fill-mask loses the other [MASK]: $(cat fill.txt)"
refused "the model has 512 positions; shorten it" "$octet" fill-mask lm "[MASK] $(seq -s ' ' 600)"
refused "there is no such file or folder" "$octet" fill-mask gone "a [MASK]"
"$octet" quantize lm --data text.txt --samples 4 --threads 1 -o lm8/ >/dev/null 2>&1
"$octet" eval lm lm8/ --data text.txt --limit 8 --threads 1 --report lm.html >lm.txt 2>/dev/null
for text in "knowing only how often each token comes" "only this right" "perplexity" "NSP %"; do
  grep -qF "$text" lm.txt || fail "eval of language models lacks: $text"
  grep -qF "$text" lm.html || fail "the report on language models lacks: $text"
done
grep -qF '>lm8</text>' lm.html || fail "the report has no bar of lm8"
refused "exists" "$octet" eval lm --data text.txt --limit 8 --threads 1 --report lm.html
"$octet" train vocabulary --text "reviews?last=1" --size 120 -o vocabulary/ >/dev/null 2>&1
[ -s vocabulary/vocab.txt ] || fail "no vocabulary"

printf 'text\naaaaaaaa\nbbbbbbbb\nccccccccc\n' >lengths.tsv
"$octet" data show tsv:lengths.tsv >lengths.txt
grep -qF "bytes: median 8, mean 8, 95 % up to 9, longest 9" lengths.txt || fail "lengths: $(cat lengths.txt)"

# Two processes train one model: half the batch each.
port=$((20000 + RANDOM % 20000))
pair=(train bert "${data[@]}" "${small[@]}" --limit 32 --no-validation --steps 2 --batch 4 -o pair/)
env WORLD_SIZE=2 RANK=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$octet" "${pair[@]}" >second.txt 2>&1 &
env WORLD_SIZE=2 RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$octet" "${pair[@]}" >first.txt 2>&1 ||
  fail "process 0: $(cat first.txt)"
wait $! || fail "process 1: $(cat second.txt)"
grep -qF '"processes": 2' pair/training.json || fail "no model of two processes"

"$octet" train bert --help >help.txt
grep -q "Usage: octet train bert" help.txt || fail "usage: $(cat help.txt)"
