#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/demo and tools/demo-bert say how they are called, and refuse what they do not know before anything is run.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export OUT=$work/out OCTET=$octet

for name in demo demo-bert; do
  demo=$OCTET_SOURCE_DIR/tools/$name
  for flag in -h --help; do
    "$demo" "$flag" >usage || fail "$name $flag: exit $?"
    grep -q "^usage: tools/$name " usage || fail "$name $flag: no usage"
    ! grep -q "^set \|^#" usage || fail "$name $flag: prints more than the usage"
  done
  refused "$name: unknown option --nope" "$demo" --nope
  refused "$name: 2 arguments" "$demo" a b
done
refused "nonsense" "$OCTET_SOURCE_DIR/tools/demo-bert" nonsense
[ ! -e "$OUT/settings" ] || fail "demo-bert: a data set that cannot be read left its settings behind"
