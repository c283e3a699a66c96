# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the command line: the command as $octet, a working folder that goes when the test ends, and checks.
# shellcheck shell=bash
octet=$OCTET_BUILD_DIR/bin/octet
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# fail WHY: ends the test
fail() {
  echo "${0##*/}: $1" >&2
  exit 1
}

# exits STATUS EXPECTED COMMAND...: the command exits with STATUS and one line that contains EXPECTED
exits() {
  local status=$1 expected=$2 rc=0
  shift 2
  "$@" >out.txt 2>err.txt || rc=$?
  [ $rc = "$status" ] || fail "$*: exit $rc instead of $status: $(cat err.txt)"
  [ "$(wc -l <err.txt)" = 1 ] || fail "$*: not one line: $(cat err.txt)"
  grep -qF -- "$expected" err.txt || fail "$*: $(cat err.txt)"
}

# refused EXPECTED COMMAND...: input that cannot be used
refused() { exits 2 "$@"; }

# trains COMMAND...: the command succeeds; where octet was built without LibTorch there is nothing to train with, and the test ends
trains() {
  "$@" >out.txt 2>err.txt && return
  grep -q "built without LibTorch" err.txt && exit 0
  fail "$*: $(cat err.txt)"
}
