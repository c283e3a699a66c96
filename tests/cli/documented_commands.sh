#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Commands in pages that are looked up when something is wrong exist, with their options. What they print is the pages' business.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

# help_of WORDS...: the help of the command that a line begins with, in help.txt; its words go to $command
help_of() {
  local count
  for count in 2 1; do
    command="${*:1:count}"
    # shellcheck disable=SC2086
    if "$octet" $command --help >help.txt 2>/dev/null && grep -q "^Usage: octet $command " help.txt; then
      return 0
    fi
  done
  return 1
}

# check_line PAGE LINE
check_line() {
  local page=$1 line=${2%%  #*} words word
  line=${line%%|*}
  line=${line%%>*}
  read -ra words <<<"${line#octet }"
  help_of "${words[@]}" || fail "$page: no such command: $2"
  for word in "${words[@]}"; do
    case $word in
    -o | --*) ;;
    *) continue ;;
    esac
    word=${word%%=*}
    grep -qE -- "(^|[ ,])$word([ ,:=]|\$)" help.txt || fail "$page: octet $command has no $word: $2"
  done
}

for page in calibration troubleshooting predict lock training view walkthroughs; do
  count=0
  while read -r line; do
    check_line $page.md "$line"
    count=$((count + 1))
  done < <(sed -nE 's/^ {4,}(\$ )?(octet .*)$/\2/p' "$OCTET_SOURCE_DIR/docs/$page.md" | grep -v '^octet [a-z ]*:')
  [ $count -ge 5 ] || fail "$page.md: $count commands were found"
done

# The check finds what it is for.
if (check_line page "octet calibrate x --no-such 1" 2>/dev/null) || (check_line page "octet callibrate x" 2>/dev/null); then
  fail "an option or a command that does not exist passes"
fi
