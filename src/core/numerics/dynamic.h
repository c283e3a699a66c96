// SPDX-License-Identifier: Apache-2.0
// octet's dynamic quantization: every row of a matrix has its own symmetric int8 scale.
#pragma once

#include <limits>
#include <span>

namespace octet::numerics {

/// The largest magnitude; NaN is passed over.
inline float largest_magnitude(std::span<const float> row) {
  float amax = 0;
  for (float x : row) {
    const float a = x < 0 ? -x : x;
    if (a > amax) amax = a;
  }
  return amax;
}

/// amax / 127; 1 where that is no normal number.
inline float scale_of_magnitude(float amax) {
  const float scale = amax / 127.0F;
  return scale < std::numeric_limits<float>::min() ? 1.0F : scale;
}

inline float row_scale(std::span<const float> row) {
  return scale_of_magnitude(largest_magnitude(row));
}

} // namespace octet::numerics
