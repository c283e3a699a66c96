# SPDX-License-Identifier: Apache-2.0
# liboctet_train must load LibTorch, and the CUDA libraries that LibTorch is linked with, from where LibTorch was found,
# never from the system: a system CUDA of another version would be taken silently.
set -euo pipefail
torch=$(sed -n 's/^Torch_FOUND_ROOT:[A-Z]*=//p' "$OCTET_BUILD_DIR/CMakeCache.txt")
torch=$(realpath "$torch")
[ -n "$torch" ] || { echo "no Torch_FOUND_ROOT in the CMake cache"; exit 1; }
parent=$(dirname "$torch")
library=$OCTET_BUILD_DIR/lib/liboctet_train.so

resolved=$(env -u LD_LIBRARY_PATH ldd "$library")
if grep -F 'not found' <<<"$resolved"; then
  echo "liboctet_train.so has unresolved libraries"
  exit 1
fi
checked=0
while read -r name _ path _; do
  case $name in
    libtorch*|libc10*|libcudart*|libcupti*|libnvrtc*|libcublas*|libgomp*)
      real=$(realpath "$path")
      case $real in
        "$parent"/*) checked=$((checked + 1)) ;;
        *) echo "$name comes from $real, not from $parent"; exit 1 ;;
      esac ;;
  esac
done <<<"$resolved"
# libtorch_cpu and libc10 at the least, or the pattern above has gone stale.
[ "$checked" -ge 2 ] || { echo "only $checked LibTorch libraries in: $resolved"; exit 1; }
echo "$checked libraries, all from $parent"

if readelf -d "$OCTET_BUILD_DIR/lib/liboctet.so" | grep -E 'NEEDED.*(torch|c10|cuda)'; then
  echo "liboctet.so links LibTorch"
  exit 1
fi
