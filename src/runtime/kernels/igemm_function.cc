// SPDX-License-Identifier: Apache-2.0
// The epilogue of a tile with a function behind the product: sums become floats in a tile of their
// own, the function's results go on as they are or as codes.
#include <algorithm>
#include <cstring>

#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/tile_function.h"

namespace octet::kernels {
namespace {

constexpr int64_t kWidth = kColumnsPerPanel;

/// Rows of whole panels to those of the output.
template <typename T>
void put_rows(const T* tile, const TileOut& t) {
  T* y = static_cast<T*>(t.y) + t.row * t.y_stride + t.column;
  for (int64_t r = 0; r < t.rows; ++r, tile += kWidth, y += t.y_stride) {
    if (t.columns == kWidth)
      std::memcpy(y, tile, kWidth * sizeof(T));
    else
      std::copy_n(tile, t.columns, y);
  }
}

} // namespace

void epilogue_with_function(EpilogueTileFn epilogue, const Epilogue& e, const TileOut& t) {
  alignas(64) float numbers[kTileNumbers];
  Epilogue floats = e;
  floats.type = YType::kFloat;
  if (e.row_multiplier != nullptr) floats.row_multiplier = e.row_multiplier + t.row;
  TileOut to = t;
  to.row = to.column = 0;
  to.columns = kWidth;
  to.init += t.column;
  to.multiplier += t.column;
  to.bias += t.column;
  to.y = numbers;
  to.y_stride = kWidth;
  epilogue(floats, to);
  const int64_t count = t.rows * kWidth;
  if (e.type == YType::kFloat) {
    e.function->to_floats(numbers, count, numbers);
    return put_rows(numbers, t);
  }
  alignas(64) uint8_t codes[kTileNumbers];
  e.function->to_codes({.x = numbers,
                        .count = count,
                        .scale = e.scale,
                        .zero_point = e.zero_point,
                        .lo = e.lo,
                        .hi = e.hi,
                        .is_signed = e.type == YType::kInt8,
                        .y = codes},
                       numbers);
  put_rows(codes, t);
}

} // namespace octet::kernels
