#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# octet help: help by name, a manual page of each command that man takes, completion as bash does it.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"

"$octet" --help >direct.txt
"$octet" help >by_name.txt
cmp direct.txt by_name.txt
"$octet" train cnn --help >direct.txt
"$octet" help train cnn >by_name.txt
cmp direct.txt by_name.txt
refused 'octet has no command "evl"; did you mean "eval"?' "$octet" help evl
refused 'octet train has no command "rnn"' "$octet" help train rnn
refused '--completion' "$octet" help --completion fish

# Commands by their help, each with what its own help lists.
commands_of() { "$octet" "$@" --help | sed -n '/^Subcommands:/,/^$/p' | sed -n 's/^  \([a-z0-9-]*\) .*/\1/p'; }
options_of() { "$octet" "$@" --help | sed -nE 's/^  (-[a-zA-Z],)?(--[a-z0-9-]+).*/\2/p'; }
all=("")
for command in $(commands_of); do
  all+=("$command")
  for sub in $(commands_of "$command"); do all+=("$command $sub"); done
done
[ ${#all[@]} -ge 40 ] || fail "${#all[@]} commands: ${all[*]}"

"$octet" help --man pages >said.txt
[ "$(cat said.txt)" = "${#all[@]} pages in pages" ] || fail "$(cat said.txt)"
for command in "${all[@]}"; do
  page=pages/octet${command:+-${command// /-}}.1
  [ -s "$page" ] || fail "there is no $page"
  # shellcheck disable=SC2086
  for option in $(options_of $command); do
    grep -qF -- "${option//-/\\-}" "$page" || fail "$page: no $option"
  done
done
refused "pages/octet.1: exists; use --force" "$octet" help --man pages
[ "$("$octet" help --man pages --force --json)" = "{\"folder\":\"pages\",\"pages\":${#all[@]}}" ] || fail "--json"
grep -qF 'octet quantize cnn.onnx' <(sed 's/\\-/-/g' pages/octet-quantize.1) || fail "no example in octet-quantize.1"
if command -v groff >/dev/null; then
  for page in pages/*.1; do
    warned=$(groff -man -Tutf8 -ww -z "$page" 2>&1 | grep -v "can't break line\|cannot break line\|cannot adjust line" || true)
    [ -z "$warned" ] || fail "groff: $warned"
  done
fi

# complete WORDS...: what bash offers for the last of them
"$octet" help --completion bash >completion.bash
bash -n completion.bash
complete_words() {
  bash -c 'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _octet; echo "${COMPREPLY[*]}"' _ "$@"
}
# offers EXPECTED WORDS...
offers() {
  local expected=$1
  shift
  [ "$(complete_words "$@")" = "$expected" ] || fail "completion of \"$*\": $(complete_words "$@")"
}
offers "quantize" octet qua
offers "cnn" octet train c
offers "--explain" octet quantize --exp
offers "--explain" octet quantize m.onnx --force --exp
offers "fp16 bf16" octet quantize m.onnx --precision ""
offers "bf16" octet quantize m.onnx --precision b
offers "" octet quantize m.onnx --data --exp # a value is to come: files
offers "" octet inspect mod
offers "bash zsh" octet help --completion ""
for command in "${all[@]}"; do
  # shellcheck disable=SC2086
  offered=" $(complete_words octet $command --) "
  # shellcheck disable=SC2086
  for option in $(options_of $command); do
    [[ $offered == *" $option "* ]] || fail "completion of octet $command: no $option"
  done
done

"$octet" help --completion zsh >_octet
[ "$(head -1 _octet)" = "#compdef octet" ] || fail "$(head -1 _octet)"
grep -qF "'--explain:print the plan with its reasons'" _octet || fail "no --explain in _octet"
if command -v zsh >/dev/null; then
  # What the script hands to zsh's own functions, for the words before and under the cursor.
  zsh_offers() {
    zsh -f -c '
      compadd() { print -r -- "$@" }
      _describe() { print -rl -- "$1" "${(@P)2}" }
      _files() { print files }
      words=("$@") CURRENT=$#
      source ./_octet' _ "$@"
  }
  grep -qx "quantize:quantize a float model to 8 bits or fewer" <(zsh_offers octet qua) || fail "zsh: $(zsh_offers octet qua)"
  grep -q "^cnn:" <(zsh_offers octet train c) || fail "zsh: $(zsh_offers octet train c)"
  grep -q "^--explain:" <(zsh_offers octet quantize m.onnx --exp) || fail "zsh: $(zsh_offers octet quantize m.onnx --exp)"
  [ "$(zsh_offers octet quantize m.onnx --precision b)" = "-- fp16 bf16" ] || fail "zsh: $(zsh_offers octet quantize m.onnx --precision b)"
  [ "$(zsh_offers octet quantize m)" = files ] || fail "zsh: $(zsh_offers octet quantize m)"
fi
