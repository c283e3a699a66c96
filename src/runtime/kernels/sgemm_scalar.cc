// SPDX-License-Identifier: Apache-2.0
// Scalar tile: the specification of the float product.
#include <cmath>

#include "core/numerics/round.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {

void float_tile_scalar(const FloatTile& tile) {
  constexpr int64_t kWidth = 16;
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t c = 0; c < tile.columns; ++c) {
      float* y = tile.y + r * tile.y_stride + c;
      float sum = tile.first ? 0.0F : *y;
      for (int64_t i = 0; i < tile.k; ++i) {
        sum = std::fma(tile.x[r * tile.x_stride + i], tile.w[i * kWidth + c], sum);
      }
      if (tile.last) {
        if (tile.bias != nullptr) sum += tile.bias[c];
        sum = numerics::clamp_keep_nan(sum, tile.lo, tile.hi);
      }
      *y = sum;
    }
  }
}

} // namespace octet::kernels
