// SPDX-License-Identifier: Apache-2.0
// Scalar tile: the specification of the float product.
#include <cmath>

#include "core/numerics/round.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {

void float_tile_scalar(const FloatTile& tile) {
  for (int64_t r = 0; r < tile.tiles * tile.rows; ++r) {
    for (int64_t c = 0; c < tile.columns; ++c) {
      float* y = tile.y + tile.places[r] + c;
      float sum = tile.first ? 0.0F : *y;
      for (int64_t s = 0; s < tile.segments; ++s) {
        const float* x = tile.x[r] + tile.offset + tile.runs[s].x;
        const float* w = tile.w + tile.runs[s].k * tile.w_pitch + c;
        for (int64_t i = 0; i < tile.k; ++i, w += tile.w_pitch) {
          sum = std::fma(x[i], *w, sum);
        }
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
