// SPDX-License-Identifier: Apache-2.0
// Reductions over 16 virtual lanes: element i goes to lane i % 16, the lanes are folded by halves.
// The order is the same for every vector width. Softmax and layer norm are written with them; these
// scalars are their specification.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/numerics/math.h"

namespace octet::numerics {

inline constexpr int64_t kVirtualLanes = 16;
using Lanes = std::array<float, kVirtualLanes>;

/// (0 + 8), (1 + 9), ... then 4, 2 and 1 apart.
inline float fold_sum(Lanes lanes) {
  for (size_t half = kVirtualLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lanes[i] += lanes[i + half];
    }
  }
  return lanes[0];
}

/// The larger value; NaN if either is.
inline float larger(float a, float b) {
  return a > b || a != a ? a : b;
}

/// Sum of f(i) for i in [0, count).
template <typename F>
float lane_sum(int64_t count, F&& f) {
  Lanes lanes{};
  for (int64_t i = 0; i < count; ++i) {
    lanes[static_cast<size_t>(i % kVirtualLanes)] += f(i);
  }
  return fold_sum(lanes);
}

/// Sum of f(i)^2, each lane a chain of fused multiply-adds.
template <typename F>
float lane_sum_of_squares(int64_t count, F&& f) {
  Lanes lanes{};
  for (int64_t i = 0; i < count; ++i) {
    float& lane = lanes[static_cast<size_t>(i % kVirtualLanes)];
    const float v = f(i);
    lane = std::fma(v, v, lane);
  }
  return fold_sum(lanes);
}

/// Softmax of one row: e^(x - max) / sum, a true division. y may be x. A NaN makes the row NaN.
inline void softmax_row(const float* x, int64_t count, float* y) {
  float max = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    max = larger(max, x[i]);
  }
  for (int64_t i = 0; i < count; ++i) {
    y[i] = exp(x[i] - max);
  }
  const float sum = lane_sum(count, [&](int64_t i) { return y[i]; });
  for (int64_t i = 0; i < count; ++i) {
    y[i] = y[i] / sum;
  }
}

/// y = x - mean of one row; the result is 1 / sqrt(mean of y^2 + epsilon). y may be x.
inline float centre_row(const float* x, int64_t count, float epsilon, float* y) {
  const auto n = static_cast<float>(count);
  const float mean = lane_sum(count, [&](int64_t i) { return x[i]; }) / n;
  for (int64_t i = 0; i < count; ++i) {
    y[i] = x[i] - mean;
  }
  const float variance = lane_sum_of_squares(count, [&](int64_t i) { return y[i]; }) / n;
  return 1.0F / std::sqrt(variance + epsilon);
}

/// Layer norm of one row: d = x - mean, y = (d * (1 / sqrt(mean of d^2 + epsilon))) * gain + bias,
/// the last two in one rounding. gain and bias may be null (1 and 0). y may be x.
inline void layer_norm_row(
    const float* x, int64_t count, const float* gain, const float* bias, float epsilon, float* y) {
  const float inverse = centre_row(x, count, epsilon, y);
  for (int64_t i = 0; i < count; ++i) {
    y[i] = std::fma(y[i] * inverse, gain == nullptr ? 1.0F : gain[i],
                    bias == nullptr ? 0.0F : bias[i]);
  }
}

} // namespace octet::numerics
