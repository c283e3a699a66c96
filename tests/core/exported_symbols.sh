#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# liboctet.so shows what the public headers declare, and of its internals only what cmake/liboctet.map lists.
set -euo pipefail
library=$OCTET_LIB_DIR/liboctet.so
"$OCTET_SOURCE_DIR/tools/exported_symbols" --check "$library"

# The tool sees what it is there for: a declaration without a symbol, a symbol that no list has.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$OCTET_SOURCE_DIR/include" "$OCTET_SOURCE_DIR/tools" "$work/"
mkdir "$work/cmake"
cp "$OCTET_SOURCE_DIR/cmake/liboctet_c.txt" "$work/cmake/"
sed -i 's/int32_t threads;/int64_t threads;/; s/octet_session_free(/octet_session_end(/' "$work/include/octet.h"
grep -v 'octet::suggestion' "$OCTET_SOURCE_DIR/cmake/liboctet.map" >"$work/cmake/liboctet.map"
printf 'namespace octet {\nint never_defined(int a);\n}\n' >"$work/include/octet/never.h"
said=$("$work/tools/exported_symbols" --check "$library" || true)
for expected in 'octet.h: it has no more what was released: member 1 of octet_session_options: int32_t threads' \
  'octet_session_end: include/octet.h declares it' 'octet_session_free: ' 'octet::never_defined: include/octet declares it' 'neither list has it' 'run tools/exported_symbols --write'; do
  grep -qF "$expected" <<<"$said" || { echo "exported_symbols: does not say \"$expected\" but: $said"; exit 1; }
done
