#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages: what is in them and what they depend on, that the archive runs where it is unpacked, that dpkg installs
# and removes octet without a trace, and that the bill of materials is one.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
if ! command -v dpkg-deb dpkg-shlibdeps >/dev/null; then
  echo "package.sh: no dpkg, nothing to check"
  exit 0
fi
version=$("$octet" --version)
version=${version#octet }
architecture=$(dpkg --print-architecture)
# Without compression, which takes most of the time, and in a folder of their own.
cpack --config "$OCTET_BUILD_DIR/CPackConfig.cmake" -B "$work/dist" -D CPACK_DEBIAN_COMPRESSION_TYPE=none >cpack.log 2>&1 ||
  fail "$(cat cpack.log)"
cd dist

lists() { # lists PACKAGE FILE...: a package has these files
  local package=$1 file
  shift
  dpkg-deb -c "${package}_${version}_$architecture.deb" | sed -n 's/.* \.\(\/[^ ]*[^/ ]\).*/\1/p' >"$package.txt"
  for file in "$@"; do grep -qxF "$file" "$package.txt" || fail "$package has no $file: $(cat "$package.txt")"; done
}
lists octet /usr/bin/octet "/usr/lib/liboctet.so.0" /usr/share/man/man1/octet.1 /usr/share/man/man1/octet-train-cnn.1 \
  /usr/share/bash-completion/completions/octet /usr/share/zsh/site-functions/_octet /usr/share/doc/octet/copyright
lists octet-dev /usr/include/octet.h /usr/include/octet/session.h /usr/lib/liboctet.so /usr/lib/cmake/octet/octetConfig.cmake \
  /usr/lib/pkgconfig/octet.pc
depends=$(dpkg-deb -f "octet_${version}_$architecture.deb" Depends)
for library in libc6 libfmt9 libstdc++6 libutf8proc2 zlib1g; do
  [[ $depends == *"$library"* ]] || fail "octet does not depend on $library: $depends"
done
[[ $depends != *curl* ]] || fail "octet depends on curl: $depends"
[ "$(dpkg-deb -f "octet-dev_${version}_$architecture.deb" Depends)" = "octet (= $version)" ] || fail "octet-dev depends on something else"

mkdir unpacked
tar -C unpacked -xzf octet-*.tar.gz --strip-components=1
[ "$(unpacked/bin/octet --version)" = "octet $version" ] || fail "the archive does not run"
(unpacked/bin/octet help train cnn && unpacked/bin/octet formats int8) >/dev/null

# Where there is root: installed into a root of its own and removed again. Its script may call ldconfig, which is not to
# look at this machine.
if [ "$(id -u)" = 0 ]; then
  mkdir -p root/var/lib/dpkg/{info,updates,triggers} stub
  touch root/var/lib/dpkg/{status,available}
  printf '#!/bin/sh\n' >stub/ldconfig && chmod +x stub/ldconfig
  into_root() { PATH=$PWD/stub:$PATH dpkg --root="$PWD/root" --force-depends --force-script-chrootless --log=/dev/null "$@" >dpkg.log 2>&1; }
  into_root -i octet_*.deb octet-dev_*.deb || fail "$(cat dpkg.log)"
  [ "$(root/usr/bin/octet --version)" = "octet $version" ] || fail "what dpkg installed does not run"
  into_root -P octet octet-dev || fail "$(cat dpkg.log)"
  left=$(find root -path root/var -prune -o ! -type d -print)
  [ -z "$left" ] || fail "dpkg left $left"
fi

"$OCTET_SOURCE_DIR/tools/bill_of_materials" octet.cdx.json
python3 - "$version" <<'PY'
import json
import sys
bill = json.load(open("octet.cdx.json", encoding="utf-8"))
assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
assert bill["metadata"]["component"]["version"] == sys.argv[1]
names = [component["name"] for component in bill["components"]]
assert {"fmt", "highway", "zlib", "protozero"} <= set(names), names
for component in bill["components"]:
    assert component["licenses"][0]["license"]["id"] and component["purl"].endswith("?distro=debian-12"), component
assert set(bill["dependencies"][0]["dependsOn"]) == set(names)
PY
"$OCTET_SOURCE_DIR/tools/bill_of_materials" --notices notices.txt
for holder in "Victor Zverovich" "Niels Lohmann" "Mark Gillard"; do grep -q "$holder" notices.txt || fail "no notice of $holder"; done
