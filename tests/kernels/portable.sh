#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Elsewhere than on x86-64 there are no kernels for its instruction sets: sources may name them, and intrinsics, only
# where the preprocessor asked for __x86_64__, or as arguments of for_isa, which does. (Headers may declare them: what is
# not called is not linked.)
set -euo pipefail

# Prints the lines of files, or of stdin, that name what only x86-64 has and are compiled elsewhere too.
unguarded() {
  awk '
    FNR == 1 { depth = choosing = 0 }
    /^[ \t]*#[ \t]*if/ {
      asks[++depth] = /defined\(__x86_64__\)|ifdef[ \t]+__x86_64__/ && !/![ \t]*defined\(__x86_64__\)/
      next
    }
    /^[ \t]*#[ \t]*el/ { asks[depth] = /elif.*defined\(__x86_64__\)/; next }
    /^[ \t]*#[ \t]*endif/ { depth--; next }
    {
      for (i = 1; i <= depth; i++)
        if (asks[i]) next
      text = $0
      sub(/\/\/.*/, "", text)
      gsub(/"[^"]*"/, "", text)
      if (choosing) text = "for_isa<" text
      gsub(/for_isa<[^>]*>/, "", text)
      choosing = sub(/for_isa<[^>]*$/, "", text)
      if (text ~ /(^|[^A-Za-z0-9_])_mm[0-9]*_|__m(128|256|512)|immintrin\.h/ ||
          (FILENAME !~ /\.h$/ && text ~ /[a-z0-9]_(avx(2|vnni|512|512vnni|512vbmi)|vnni256)([^A-Za-z0-9_]|$)/))
        print FILENAME ":" FNR ": " $0
    }' "$@"
}

# The check itself: four lines that it must find, and none of the others.
found=$(unguarded <<'END' | wc -l
run = isa == Isa::kScalar ? depthwise_scalar : depthwise_avx2;
run = for_isa<clip_scalar, Isa::kAvx2, clip_avx2>(isa);
run = for_isa<softmax_rows_scalar, Isa::kAvx2,
              softmax_rows_avx2>(isa); binary_avx2();
#if defined(__x86_64__)
return dot_tile_avx512;
#if FAST
__m256i v;
#endif
#else
return dot_tile_avx2;
#endif
#if !defined(__x86_64__)
_mm_pause();
#endif
// as depthwise_avx2 does
END
)
[[ $found == 4 ]] || { echo "the check found $found of 4 lines"; exit 1; }

mapfile -t files < <(find "${OCTET_SOURCE_DIR:?run by ctest}/src" -name '*.cc' -o -name '*.h' | LC_ALL=C sort)
lines=$(unguarded "${files[@]}")
if [[ -n $lines ]]; then
  echo "compiled on other processors than x86-64 too, where these are not:"
  echo "$lines"
  exit 1
fi
