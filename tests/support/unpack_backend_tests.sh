#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks ONNX's backend tests (OCTET_DATA/onnx-backend/*.tar.zst; OCTET_DATA is ../shared/data beside the source tree
# where it is unset) into BUILD/onnx-backend once and prints the folder that holds node/, simple/ and the like.
# usage: unpack_backend_tests.sh [BUILD]      BUILD defaults to OCTET_BUILD_DIR
# Exit 77, with a word on stderr: there is no archive.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
data=${OCTET_DATA:-$source_dir/../shared/data}
build=${1:-${OCTET_BUILD_DIR:?give the build folder}}
archive=$(ls "$data"/onnx-backend/*.tar.zst 2>/dev/null | head -1 || true)
if [ -z "$archive" ]; then
  echo "unpack_backend_tests: no onnx-backend/*.tar.zst in $data; set OCTET_DATA" >&2
  exit 77
fi
mkdir -p "$build"
folder=$build/onnx-backend
stamp=$folder/.from
exec 9>"$build/.onnx-backend.lock"
flock 9
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$(basename "$archive")" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  (cd "$folder" && cmake -E tar xf "$archive")
  basename "$archive" >"$stamp"
fi
echo "$folder/onnx/backend/test/data"
