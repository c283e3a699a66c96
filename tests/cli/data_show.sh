#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `octet data show`: which examples it prints, and how it counts them.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

# Images: drawn from the whole set by the seed, in the order of their places.
places() { "$octet" data show generated "$@" | sed -n 's/^example \([0-9]*\), label .*/\1/p'; }
places --examples 40 >zero.txt
[ "$(wc -l <zero.txt)" = 40 ] || fail "not 40 examples: $(cat zero.txt)"
sort -nu zero.txt | cmp -s - zero.txt || fail "not in order, or one twice: $(cat zero.txt)"
[ "$(tail -n 1 zero.txt)" -gt 6000 ] || fail "none from the second half of 12,000: $(cat zero.txt)"
places --examples 40 | cmp -s - zero.txt || fail "another sample of the same seed"
if places --examples 40 --seed 1 | cmp -s - zero.txt; then fail "the seed changes nothing"; fi

# What is printed of an image is that image.
"$octet" data show generated --examples 1000 >many.txt
"$octet" data show generated --examples 1000 --seed 2 >more.txt
# part PLACE FILE: what stands of it
part() { sed -n "/^example $1,/,/^example/p" "$2" | sed '$d'; }
shared=$(sed -n 's/^example \([0-9]*\),.*/\1/p' many.txt | sort >a.txt; sed -n 's/^example \([0-9]*\),.*/\1/p' more.txt | sort | comm -12 a.txt - | head -n 1)
[ -n "$shared" ] || fail "1,000 of 12,000, twice, share none"
part "$shared" many.txt >first.txt
[ "$(wc -l <first.txt)" -gt 20 ] || fail "no image: $(cat first.txt)"
part "$shared" more.txt | cmp -s - first.txt || fail "example $shared looks different in another sample"

# One is one.
printf 'text\tlabel\nfilm\t0\nbook\t1\nplay\t1\n' >three.tsv
"$octet" data show tsv:three.tsv >three.txt
grep -qF 'three.tsv, 3 examples (the same' three.txt || fail "$(cat three.txt)"
grep -qF 'label 0: 1 example, "0"' three.txt || fail "$(cat three.txt)"
grep -qF 'label 1: 2 examples, "1"' three.txt || fail "$(cat three.txt)"
printf 'a film\n' >one.txt
"$octet" data show text:one.txt | grep -qF 'one.txt, 1 document (the same' || fail "$("$octet" data show text:one.txt)"
