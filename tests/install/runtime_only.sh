#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The build of what runs models alone: it takes no library but the compiler's, is small, has all that its headers declare,
# and a program links it statically. It compiles half of octet: with OCTET_LONG=1 only.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
if [ -z "${OCTET_LONG:-}" ]; then
  echo "runtime_only.sh: left out; OCTET_LONG=1 runs it"
  exit 0
fi
cmake -S "$OCTET_SOURCE_DIR" -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DOCTET_RUNTIME_ONLY=ON >cmake.log 2>&1 || fail "$(cat cmake.log)"
cmake --build build >cmake.log 2>&1 || fail "$(tail -50 cmake.log)"
cmake --install build --prefix "$work/octet" --strip >cmake.log
size=$(stat -L -c %s octet/lib/liboctet.so)
[ "$size" -lt 10000000 ] || fail "liboctet.so takes $size bytes"
other=$(readelf -d octet/lib/liboctet.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libstdc\+\+|libm|libgcc_s|libc|ld-linux-x86-64)\.so\.' || true)
[ -z "$other" ] || fail "it needs $other"
grep -q 'octet/train\|octet/quantize' <(ls octet/include/octet) && fail "headers of what is not there: $(ls octet/include/octet)"

# What the headers that are there declare, liboctet.so shows.
mkdir -p check/include check/cmake
cp -r "$OCTET_SOURCE_DIR/tools" check/ && cp -r octet/include/. check/include/
cp "$OCTET_SOURCE_DIR/cmake/liboctet_c.txt" "$OCTET_SOURCE_DIR/cmake/liboctet.map" check/cmake/
missing=$(check/tools/exported_symbols --check octet/lib/liboctet.so | grep 'does not show it' || true)
[ -z "$missing" ] || fail "$missing"

mkdir project
cp "$OCTET_SOURCE_DIR/examples/run_model.c" project/
cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C CXX)
find_package(octet REQUIRED)
add_executable(run_model run_model.c)
target_link_libraries(run_model PRIVATE octet::static)
CMAKE
cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$work/octet" >cmake.log 2>&1 || fail "$(cat cmake.log)"
cmake --build project/build >cmake.log 2>&1 || fail "$(cat cmake.log)"
printf 'graph g opset(""=17)\ninput x: f32[N, 2]\ny = Sigmoid(x)\noutput y: f32[N, 2]\n' >net.txt
"$octet" assemble net.txt -o net.onnx
[ "$(project/build/run_model net.onnx | tail -1)" = "y: f32 [1, 2] 0.5 0.5" ] || fail "$(project/build/run_model net.onnx)"
! ldd project/build/run_model | grep -q octet || fail "it is linked to the shared library"
