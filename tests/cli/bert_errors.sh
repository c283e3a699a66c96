#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Texts, vocabularies and caches that train bert and pretrain bert cannot use: one clear line, exit 2, nothing written.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export XDG_CACHE_HOME=$work/cache

# unusable EXPECTED COMMAND...: octet refuses it and writes nothing
unusable() {
  local expected=$1
  shift
  refused "$expected" "$octet" "$@" --threads 1 -o out
  [ ! -e out ] || fail "$*: left something behind"
}

printf 'label\ttext\n0\tgood film indeed\n1\tbad film indeed\n' >good.tsv
printf 'label\ttext\n0\tgood film\n7\tbad film\n' >seven.tsv
printf 'label\ttext\n0\tgood film\n-1\tbad film\n' >minus.tsv
printf 'label\ttext\n0\tgood film\n1\t\n' >empty.tsv
printf 'text\ngood film\n' >unlabelled.tsv
printf '\n \n\n' >blank.txt
printf 'One document only.\n' >one.txt
printf 'A first document. It has two sentences.\n\nThen another one. With other words.\n' >two.txt
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\nfilm\ngood\nbad\nindeed\n' >no_mask.txt
printf '[PAD]\n[UNK]\n[SEP]\nfilm\n' >no_cls.txt

train=(train bert --vocab no_mask.txt --no-checkpoint --steps 1 --data)
unusable "seven.tsv line 3: label 7 is out of range; there are 2 classes" "${train[@]}" "tsv:seven.tsv?classes=bad,good"
unusable "minus.tsv line 3: the row is unlabelled" "${train[@]}" tsv:minus.tsv
unusable "empty.tsv line 3: the text is empty" "${train[@]}" tsv:empty.tsv
unusable "has no labels" "${train[@]}" tsv:unlabelled.tsv
unusable "cannot open gone.tsv" "${train[@]}" tsv:gone.tsv
unusable "no_cls.txt: the vocabulary has 4 entries but no [CLS]" train bert --vocab no_cls.txt --data tsv:good.tsv
unusable "has no [MASK]; pretraining needs one" pretrain bert --vocab no_mask.txt --text two.txt
unusable "blank.txt has no text" pretrain bert --vocab 100 --text blank.txt
unusable "has one document, next-sentence pairs need two" pretrain bert --vocab 100 --text one.txt

# A cache that was damaged after it was written.
rm -rf "$XDG_CACHE_HOME"
"$octet" "${train[@]}" tsv:good.tsv --threads 1 -o first >/dev/null 2>&1 || true # without LibTorch it ends here
cache=$(echo "$work"/cache/octet/tokens/*.tokens)
[ -f "$cache" ] || fail "no token cache"
size=$(stat -c %s "$cache")
printf '\xff' | dd of="$cache" bs=1 seek=$((size / 2)) conv=notrunc status=none
unusable "$cache is damaged" "${train[@]}" tsv:good.tsv
truncate -s 10 "$cache"
unusable "$cache is damaged" "${train[@]}" tsv:good.tsv
rm "$cache"
"$octet" "${train[@]}" tsv:good.tsv --threads 1 -o second >/dev/null 2>&1 || true
[ -f "$cache" ] || fail "the cache is not made again"
