// SPDX-License-Identifier: Apache-2.0
// Group norm of channels that lie together for each pixel. Its sums run along the pixels, each
// channel in four chains, so that any vector of channels takes one step a pixel; the scalar here is
// their specification.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/numerics/reduce.h"

namespace octet::numerics {

/// Pixel p goes to chain p % 4.
inline constexpr int64_t kPixelChains = 4;

/// The chains of one channel in one: (0 + 2) + (1 + 3).
inline float fold_chains(const std::array<float, kPixelChains>& chains) {
  return (chains[0] + chains[2]) + (chains[1] + chains[3]);
}

/// One group of one image: x and y are [pixels, channels], `step` elements from pixel to pixel. The
/// sum of a group is lane_sum over those of its channels; d = x - mean, its squares are added with
/// fused multiply-adds, y = (d * (1 / sqrt(mean of d^2 + epsilon))) * gain + bias, the last two in
/// one rounding. y may be x.
inline void group_norm_last(const float* x,
                            int64_t pixels,
                            int64_t step,
                            int64_t channels,
                            const float* gain,
                            const float* bias,
                            float epsilon,
                            float* y) {
  const auto n = static_cast<float>(channels * pixels);
  std::vector<float> sums(static_cast<size_t>(channels));
  const auto sum_of_group = [&](auto&& add) {
    for (int64_t c = 0; c < channels; ++c) {
      std::array<float, kPixelChains> chains{};
      for (int64_t p = 0; p < pixels; ++p) {
        float& chain = chains[static_cast<size_t>(p % kPixelChains)];
        chain = add(x[p * step + c], chain);
      }
      sums[static_cast<size_t>(c)] = fold_chains(chains);
    }
    return lane_sum(channels, [&](int64_t c) { return sums[static_cast<size_t>(c)]; });
  };
  const float mean = sum_of_group([](float v, float chain) { return chain + v; }) / n;
  const float variance = sum_of_group([mean](float v, float chain) {
                           const float d = v - mean;
                           return std::fma(d, d, chain);
                         }) /
                         n;
  const float inverse = 1.0F / std::sqrt(variance + epsilon);
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t c = 0; c < channels; ++c)
      y[p * step + c] = std::fma((x[p * step + c] - mean) * inverse, gain[c], bias[c]);
}

} // namespace octet::numerics
