#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tools/gpu-check packed, built and checked on this machine. Needs g++ and a Python with PyTorch 2.11 or newer.
# usage: ./gpu-check/run.sh RESULTS       RESULTS/results.md and results.json say what came out; logs lie beside them
#        PYTHON=...  another python3      CXX=...  another compiler      JOBS=...  fewer than all cores
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 1 ] || { echo "usage: $0 RESULTS" >&2; exit 2; }
mkdir -p "$1"
results=$(cd "$1" && pwd)
python=$(command -v "${PYTHON:-python3}") || { echo "run.sh: no ${PYTHON:-python3} here; PYTHON=... names one" >&2; exit 2; }
jobs=${JOBS:-$(nproc)}
say() { echo "run.sh: $(date +%H:%M:%S) $*" | tee -a "$results/run.log" >&2; }

# find-torch asks the first python3 of the path, and no cache of another build.
mkdir -p "$here/tools"
case $python in /*) ;; *) python=$PWD/$python ;; esac
rm -f "$here/tools/python3" # never through a link
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$here/tools/python3"
chmod +x "$here/tools/python3"
export PATH=$here/tools:$PATH XDG_CACHE_HOME=$here/cache
torch=$("$here/sources/tools/find-torch") || { echo "run.sh: $python has no PyTorch of 2.11 or newer" >&2; exit 2; }
say "PyTorch in $torch"

for wheel in "$here"/wheels/*.whl; do
  "$python" -m zipfile -e "$wheel" "$here/unpacked"
done
unpacked_cmake=$(find "$here/unpacked" -path '*/cmake/data/bin' -type d)
unpacked_ninja=$(find "$here/unpacked" -name ninja -type f)
chmod +x "$unpacked_cmake"/* "$unpacked_ninja"
cmake=$(command -v cmake || true)
[ -n "$cmake" ] && "$cmake" -P "$here/sources/bench/gpu/is_new_enough.cmake" 2>/dev/null || cmake=$unpacked_cmake/cmake
ninja=$(command -v ninja || echo "$unpacked_ninja")
say "$("$cmake" --version | head -1), ninja $("$ninja" --version), $(${CXX:-c++} --version | head -1)"

options=(-DCMAKE_PREFIX_PATH="$here/packages/usr" -DCMAKE_MAKE_PROGRAM="$ninja"
  -DCURL_NO_CURL_CMAKE=ON -DCURL_LIBRARY="$(find "$here/packages" -name libcurl.a)"
  -DCURL_INCLUDE_DIR="$(dirname "$(dirname "$(find "$here/packages" -path '*/curl/curl.h')")")"
  -DOCTET_CUDA=ON -DCMAKE_BUILD_TYPE=Release)
for config in $(find "$here/packages" -name '*Config.cmake' -o -name '*-config.cmake'); do
  name=$(basename "$config" .cmake)
  name=${name%Config}
  options+=("-D${name%-config}_DIR=$(dirname "$config")")
done
build=$here/build
"$cmake" -S "$here/sources" -B "$build" -G Ninja "${options[@]}" >"$results/configure.log" 2>&1 || {
  say "configuring failed; see $results/configure.log"
  exit 1
}
start=$SECONDS
"$cmake" --build "$build" -j "$jobs" --target product octet_test_train octet_bench_train_steps >"$results/build.log" 2>&1 || {
  say "the build failed; see $results/build.log"
  exit 1
}
say "built in $((SECONDS - start)) s"
"$python" "$here/sources/bench/gpu/checks.py" --build "$build" --results "$results" --commit "$(cat "$here/commit.txt")"
