#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No innermost loop of a dot-product kernel may touch the stack: a spilled accumulator costs most of its
# speed. Reads the object files of a release build.
set -euo pipefail

build=${OCTET_BUILD_DIR:?run by ctest}
if ! grep -q '^CMAKE_BUILD_TYPE:[^=]*=Release$' "$build/CMakeCache.txt"; then
  echo "not a release build: loops are not optimized, nothing to check"
  exit 0
fi

# Prints "loops spilled" for an object file: innermost loops with at least three vector products, and
# those of them that address the stack.
count_loops() {
  objdump -d --no-show-raw-insn "$1" | awk '
    function flush(   i, j, inner, products, stack) {
      for (i = 1; i <= jumps; i++) {
        inner = 1
        for (j = 1; j <= jumps; j++)
          if (j != i && from[j] >= to[i] && from[j] <= from[i] && to[j] >= to[i]) inner = 0
        if (!inner) continue
        products = stack = 0
        for (j = to[i]; j <= from[i]; j++) {
          if (line[j] ~ /vpmaddubsw|vpmaddwd|vpdpbusd|vfmadd[0-9]+ps/) products++
          if (line[j] ~ /[xyz]mm/ && (line[j] ~ /\(%rsp/ || (framed && line[j] ~ /\(%rbp/))) stack++
        }
        if (products < 3) continue
        loops++
        if (stack > 0) { spilled++; print "stack used in a hot loop of " name > "/dev/stderr" }
      }
      jumps = lines = framed = 0
      delete index_of
    }
    /^[0-9a-f]+ <.*>:$/ { flush(); name = $2; next }
    /^ *[0-9a-f]+:/ {
      lines++
      address = $1; sub(":", "", address)
      index_of[address] = lines
      line[lines] = $0
      if ($0 ~ /mov +%rsp,%rbp/) framed = 1
      if ($2 ~ /^j/ && ($3 in index_of)) { jumps++; from[jumps] = lines; to[jumps] = index_of[$3] }
    }
    END { flush(); print loops + 0, spilled + 0 }'
}

failed=0
check() { # file, least number of hot loops that it must have
  local object loops spilled
  object=$build/CMakeFiles/octet_kernels.dir/src/runtime/kernels/$1.cc.o
  read -r loops spilled < <(count_loops "$object")
  echo "$1: $loops hot loops, $spilled with stack references"
  if [ "$loops" -lt "$2" ]; then
    echo "$1: expected at least $2 hot loops; adapt this test to the kernel" >&2
    failed=1
  fi
  [ "$spilled" -eq 0 ] || failed=1
}

check igemm_avx2 12
check igemm_avxvnni 9
check igemm_vnni256 9
check igemm_avx512 12
check igemm_avx512vnni 20
check sgemm_tile 8
check winograd_vector 2
exit "$failed"
