#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Model folders from the command line: what cannot be read is one clear line and exit 2, a folder serves wherever a model
# is named, it moves as one, and an import killed at any moment leaves the old folder or the new one.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

# A BERT of Hugging Face's with weights of zero: 8 bytes of length, header, data.
python3 - <<'PY'
import json, os, struct
H, I, V, P = 8, 16, 30, 16
shapes = {"embeddings.word_embeddings.weight": [V, H], "embeddings.position_embeddings.weight": [P, H],
          "embeddings.token_type_embeddings.weight": [2, H], "pooler.dense.weight": [H, H], "pooler.dense.bias": [H]}
layer = "encoder.layer.0."
for name in ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]:
    shapes[layer + name + ".weight"], shapes[layer + name + ".bias"] = [H, H], [H]
for name, out, size in [("intermediate.dense", I, H), ("output.dense", H, I)]:
    shapes[layer + name + ".weight"], shapes[layer + name + ".bias"] = [out, size], [out]
for name in ["embeddings.", layer + "attention.output.", layer + "output."]:
    shapes[name + "LayerNorm.weight"], shapes[name + "LayerNorm.bias"] = [H], [H]
header, at = {}, 0
for name, shape in shapes.items():
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * count]}
    at += 4 * count
text = json.dumps(header).encode()
os.mkdir("hf")
with open("hf/model.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + bytes(at))
with open("hf/config.json", "w") as f:
    json.dump({"model_type": "bert", "architectures": ["BertModel"], "vocab_size": V, "hidden_size": H,
               "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": I,
               "max_position_embeddings": P}, f)
with open("hf/vocab.txt", "w") as f:
    f.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(97 + i) for i in range(25)]) + "\n")
PY

"$octet" import hf hf --head classification --labels no,yes -o bert/ >/dev/null
[ "$(cat bert/labels.txt)" = $'no\nyes' ] || fail "labels: $(cat bert/labels.txt)"
cmp bert/vocab.txt hf/vocab.txt
mv bert moved
"$octet" inspect moved >/dev/null
"$octet" check moved --target tensorrt-10 >/dev/null
"$octet" bench moved --shape input_ids=1x4 --shape attention_mask=1x4 --shape token_type_ids=1x4 --seconds 0.01 >/dev/null
"$octet" quantize moved --mode weight-only -o moved-int8 >/dev/null
# Edited names go along, into what other tools read too.
cp -r moved edited && printf 'nein\nja\n' >edited/labels.txt
"$octet" quantize edited --mode weight-only -o edited-int8 >/dev/null
[ "$(cat edited-int8/labels.txt)" = $'nein\nja' ] || fail "labels: $(cat edited-int8/labels.txt)"
python3 -c 'import json; c = json.load(open("edited-int8/config.json")); assert c["id2label"] == {"0": "nein", "1": "ja"} and c["label2id"] == {"nein": 0, "ja": 1}, c' ||
  fail "config.json has other names"
cmp moved-int8/vocab.txt hf/vocab.txt
"$octet" export hf moved -o back >/dev/null
refused "export the" "$octet" export hf moved-int8 -o int8-hf
[ ! -e int8-hf ] || fail "a failed export left a folder"

refused "exists; use --force" "$octet" import hf hf -o moved/
refused 'classes 0 and 1 are both called "a"' "$octet" import hf hf --head classification --labels a,a,b -o x/
"$octet" import hf back --labels a,b,c -o three/ >three.txt
grep -qF "the file tells 2 classes apart, --labels names 3; so with initial values: classifier." three.txt ||
  fail "a replaced classifier: $(cat three.txt)"
"$octet" quantize moved --mode weight-only --embeddings --target tensorrt-10 -o no.onnx >/dev/null 2>notes.txt
grep -qF -- "--embeddings: no table is stored in 8 bits for tensorrt-10: int8 constants" notes.txt || fail "notes: $(cat notes.txt)"
"$octet" quantize moved --mode dynamic --embeddings -o eight.onnx >/dev/null 2>none.txt
[ ! -s none.txt ] || fail "a note where tables are stored in 8 bits: $(cat none.txt)"
# A full disk under standard output.
for words in "inspect moved" "inspect moved --text" "help --completion bash" "check moved --target tensorrt-10 --json" "--version" "inspect --help"; do
  refused "standard output cannot be written: No space left on device" sh -c '"$0" $1 >/dev/full' "$octet" "$words"
done
refused "octet import hf hf" "$octet" inspect hf
refused "holds no model.onnx" "$octet" inspect .
refused "no head \"clasification\"; did you mean \"classification\"?" "$octet" import hf hf --head clasification -o x/
printf 'label\ttext\nyes\ta b\nno\tc d\n' >order.tsv
printf 'label\ttext\n2\ta b\n0\tc d\n1\te f\n' >three.tsv
"$octet" eval moved --data 'tsv:order.tsv?text=text&label=label' --latency-runs 0 >/dev/null
printf 'yes\nno\n' >moved/labels.txt
refused "bring them into one order" "$octet" eval moved --data 'tsv:order.tsv?text=text&label=label'
refused "has 2 labels" "$octet" eval moved --data 'tsv:three.tsv?text=text&label=label'
refused "no output mlm_logits" "$octet" fill-mask moved "a [MASK] b"
"$octet" import hf hf --head masked-lm -o lm/ >/dev/null
refused "has no [MASK]; put one" "$octet" fill-mask lm "a b"
"$octet" fill-mask lm "a [MASK] b" >/dev/null
cp -r lm bare && sed -i 's/\[MASK\]/[GONE]/' bare/vocab.txt
refused "no [MASK]" "$octet" fill-mask bare "a [MASK] b"

cp -r hf broken && truncate -s -4 broken/model.safetensors
refused "cut short or damaged" "$octet" import hf broken -o x/
printf '\xff\xff\xff\xff\xff\xff\xff\x7f' | dd of=broken/model.safetensors conv=notrunc status=none
refused "it is no safetensors file or cut short" "$octet" import hf broken -o x/
sed 's/"vocab_size": 30/"vocab_size": 31/' hf/config.json >broken/config.json
cp hf/model.safetensors broken/
refused "the two files do not belong together" "$octet" import hf broken -o x/
[ ! -e x ] || fail "a failed import left a folder"

# Killed at many moments of a replacement: the folder is whole, old or new.
for delay in 0 0.002 0.005 0.01 0.015 0.02 0.03 0.05; do
  "$octet" import hf hf --head masked-lm --seed 1 --force -o lm/ >/dev/null 2>&1 &
  sleep "$delay"
  kill -9 $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  cmp -s lm/vocab.txt hf/vocab.txt || fail "killed after $delay s: no vocabulary"
  "$octet" fill-mask lm "a [MASK] b" >/dev/null || fail "killed after $delay s: the folder does not work"
done
