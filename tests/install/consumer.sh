#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# octet in another project: installed, packed, unpacked elsewhere and moved, it is found by find_package(octet) and by
# pkg-config, and programs in C and C++ build with it and run a model.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
for part in runtime development; do
  DESTDIR=$work/first cmake --install "$OCTET_BUILD_DIR" --prefix /opt/octet --component $part >install.log
done
tar -C first/opt -czf octet.tar.gz octet
rm -r first
mkdir unpacked && tar -C unpacked -xzf octet.tar.gz
mkdir "a folder" && mv unpacked/octet "a folder/moved"
prefix="$work/a folder/moved"

# Nothing says where it was built or installed.
if found=$(grep -rIlE "$OCTET_BUILD_DIR|$OCTET_SOURCE_DIR|/opt/octet" "$prefix"); then fail "they name their old folders: $found"; fi
for file in "$prefix/bin/octet" "$prefix"/lib/liboctet.so.0; do
  readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -vq '\[\$ORIGIN/../lib\]' && fail "$file: $(readelf -d "$file" | grep PATH)"
done
version=$("$prefix/bin/octet" --version)
version=${version#octet }

mkdir project && cd project
cat >CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C CXX)
find_package(octet ${version%.*} REQUIRED)
add_executable(in_c in_c.c)
target_link_libraries(in_c PRIVATE octet::octet)
add_executable(in_cpp in_cpp.cc)
target_link_libraries(in_cpp PRIVATE octet::octet)
CMAKE
cat >in_c.c <<'C'
#include <octet.h>
#include <stdio.h>
int main(int argc, char** argv) {
  octet_error* error = NULL;
  octet_session* session = NULL;
  if (argc != 2 || octet_session_open(argv[1], NULL, &session, &error) != OCTET_OK) return 1;
  octet_value y = OCTET_VALUE_INIT;
  if (octet_session_output(session, 0, &y, &error) != OCTET_OK) return 1;
  printf("%s %s %s\n", octet_version(), y.name, y.text);
  octet_session_free(session);
  return 0;
}
C
cat >in_cpp.cc <<'CPP'
#include <cstdio>
#include <octet.h>
#include <octet/onnx.h>
#include <octet/session.h>
#include <octet/version.h>
octet::Result<float> run(const char* path) {
  octet::Session session = OCTET_TRY(octet::Session::create(OCTET_TRY(octet::load_onnx(path))));
  const std::vector<octet::Tensor> inputs = {octet::Tensor::of<float>({1, 2}, {-2, 3})};
  return OCTET_TRY(session.run(inputs)).front().data<float>()[1];
}
int main(int argc, char** argv) {
  const octet::Result<float> y = run(argc == 2 ? argv[1] : "");
  if (!y.ok()) return 1;
  std::printf("%s %g\n", octet_version(), *y);
}
CPP
cat >net.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 2]
y = Relu(x)
output y: f32[N, 2]
TEXT
"$prefix/bin/octet" assemble net.txt -o net.onnx

# check PROGRAM-IN-C PROGRAM-IN-C++
check() {
  [ "$("$1" net.onnx)" = "$version y f32[N, 2]" ] || fail "$1: $("$1" net.onnx)"
  [ -z "${2:-}" ] || [ "$("$2" net.onnx)" = "$version 3" ] || fail "$2: $("$2" net.onnx)"
}

cmake -S . -B by_cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug >cmake.log 2>&1 || fail "$(cat cmake.log)"
cmake --build by_cmake >cmake.log 2>&1 || fail "$(cat cmake.log)"
check by_cmake/in_c by_cmake/in_cpp

# A version that it is not.
sed -i "s/find_package(octet [0-9.]*/find_package(octet 99.0/" CMakeLists.txt
if cmake -S . -B other -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1; then fail "octet $version passes for 99.0"; fi
grep -q "$version" cmake.log || fail "$(cat cmake.log)"

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
  [ "$(pkg-config --modversion octet)" = "$version" ] || fail "pkg-config: $(pkg-config --modversion octet)"
  eval "flags=($(pkg-config --cflags --libs octet))"
  cc -std=c11 -pedantic -Wall -Wextra -Werror in_c.c "${flags[@]}" -o in_c
  LD_LIBRARY_PATH="$prefix/lib" check ./in_c
fi
