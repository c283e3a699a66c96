// SPDX-License-Identifier: Apache-2.0
// Floats to hold functions against their specification and the exact value: one in so many and the
// neighbourhoods of every power of two, and those that comparisons and roundings trip over.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "core/philox.h"
#include <gtest/gtest.h>

namespace octet::test {

inline float from_bits(uint64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  float x = 0.0F;
  std::memcpy(&x, &word, sizeof(x));
  return x;
}

/// Calls visit(values) with batches that cover one float in `long_step` (OCTET_LONG) or 4093.
template <typename Visit>
void sweep(uint64_t long_step, Visit visit) {
  const uint64_t step = std::getenv("OCTET_LONG") != nullptr ? long_step : 4093;
  std::vector<float> batch;
  const auto push = [&](float x) {
    batch.push_back(x);
    if (batch.size() == (size_t{1} << 16)) {
      visit(batch);
      batch.clear();
    }
  };
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += step) {
    push(from_bits(bits));
  }
  for (uint64_t exponent = 0; exponent < 512; ++exponent) {
    for (uint64_t i = 0; i < 64; ++i) {
      push(from_bits((exponent << 23) + i));
      push(from_bits((exponent << 23) + 0x7FFFFF - i));
    }
  }
  visit(batch);
}

/// Numbers that comparisons and roundings trip over, and any bits.
inline float odd_float(Philox& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kOdd[] = {0.0F,
                            -0.0F,
                            1.0F,
                            -1.0F,
                            0.5F,
                            -2.5F,
                            1e-45F,
                            3e38F,
                            -3e38F,
                            kInfinity,
                            -kInfinity,
                            1e-38F,
                            std::numeric_limits<float>::quiet_NaN(),
                            6.0F};
  const int64_t which = random.below(3);
  if (which == 0) return kOdd[random.below(std::size(kOdd))];
  if (which == 1) return from_bits(static_cast<uint64_t>(random.below(int64_t{1} << 32)));
  return static_cast<float>(random.uniform(-8, 8));
}

/// The same number; NaN is one.
inline bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

struct Worst {
  double ulp = 0.0;
  double absolute = 0.0; ///< of results below 1, relative above
  float at = 0.0F;
};

/// Of y[i] = function(x[i]), which `run(x, count, y)` computes. An ulp is that of the exact value,
/// or of the smallest number of `least` or more.
template <typename Run, typename Exact>
Worst worst_error(Run run, Exact exact, double least = 0.0) {
  Worst worst;
  std::vector<float> y;
  sweep(1, [&](const std::vector<float>& batch) {
    y.resize(batch.size());
    run(batch.data(), static_cast<int64_t>(batch.size()), y.data());
    for (size_t i = 0; i < batch.size(); ++i) {
      const float got = y[i];
      const double want = exact(static_cast<double>(batch[i]));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << batch[i];
        continue;
      }
      const auto rounded = static_cast<float>(want);
      if (std::isinf(rounded) || std::isinf(got)) {
        ASSERT_EQ(got, rounded) << batch[i];
        continue;
      }
      // A correctly rounded value is half an ulp off at most, which is never the worst.
      if (got == rounded) continue;
      int exponent = 0;
      std::frexp(std::max(std::fabs(static_cast<double>(rounded)), least), &exponent);
      const double error = std::fabs(static_cast<double>(got) - want);
      const double ulps = error / std::ldexp(1.0, std::max(exponent - 24, -149));
      if (ulps > worst.ulp) worst = {ulps, worst.absolute, batch[i]};
      worst.absolute = std::max(worst.absolute, error / std::max(1.0, std::fabs(want)));
    }
  });
  std::printf("worst error %.4f ulp at %a; %.3g absolute below 1, relative above\n", worst.ulp,
              static_cast<double>(worst.at), worst.absolute);
  return worst;
}

} // namespace octet::test
