// SPDX-License-Identifier: Apache-2.0
// Scalar sums and epilogue: plain loops over the specification in core/numerics.
#include <cmath>
#include <cstring>

#include "core/numerics/epilogue.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

int32_t residual_at(const Epilogue& e, int64_t row, int64_t column) {
  const int64_t at = row * e.residual_stride + column;
  return e.residual_signed ? int32_t{static_cast<const int8_t*>(e.residual)[at]}
                           : int32_t{static_cast<const uint8_t*>(e.residual)[at]};
}

void store_one(const Epilogue& e, const TileOut& t, int64_t row, int64_t column, int32_t acc) {
  const int64_t at = row * t.y_stride + column;
  if (e.type == YType::kInt32) {
    static_cast<int32_t*>(t.y)[at] = acc;
    return;
  }
  float m = t.multiplier[column];
  const float b = t.bias[column];
  if (e.type == YType::kFloat) {
    if (e.row_multiplier != nullptr) m = e.row_multiplier[row] * m;
    static_cast<float*>(t.y)[at] = numerics::scale_to_float(acc, m, b, e.float_lo, e.float_hi);
    return;
  }
  const int32_t q =
      e.residual == nullptr
          ? numerics::requantize(acc, m, b, e.zero_point, e.lo, e.hi)
          : numerics::requantize_add(acc, m, b, residual_at(e, row, column), e.residual_zero_point,
                                     e.residual_multiplier, e.zero_point, e.lo, e.hi);
  static_cast<uint8_t*>(t.y)[at] = static_cast<uint8_t>(q);
}

} // namespace

void dot_tile_scalar(const PackedPanel& panel,
                     const uint8_t* const* rows,
                     int64_t count,
                     int32_t* acc) {
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t c = 0; c < kColumnsPerPanel; ++c) {
      int32_t sum = 0;
      for (int64_t g = 0; g < panel.groups.plain; ++g) {
        const uint8_t* xs = rows[r] + panel.groups.offsets[g];
        const int8_t* ws = panel.groups.data + g * 64 + c * 4;
        sum += xs[0] * ws[0] + xs[1] * ws[1] + xs[2] * ws[2] + xs[3] * ws[3];
      }
      acc[r * kColumnsPerPanel + c] = sum;
    }
  }
}

void shift_copy_scalar(const uint8_t* from, int64_t count, int32_t shift, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<uint8_t>(from[i] + shift);
  }
}

void epilogue_tile_scalar(const Epilogue& epilogue, const TileOut& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t c = 0; c < tile.columns; ++c) {
      const auto sum = static_cast<uint32_t>(tile.acc[r * kColumnsPerPanel + c]);
      const auto acc =
          static_cast<int32_t>(sum + static_cast<uint32_t>(tile.init[tile.column + c]));
      store_one(epilogue, tile, tile.row + r, tile.column + c, acc);
    }
  }
}

} // namespace octet::kernels
