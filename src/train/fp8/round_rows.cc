// SPDX-License-Identifier: Apache-2.0
// Rounding to FP8 on the bits of floats, without branches, so that compilers make vectors of it.
#include "train/fp8/round_rows.h"

#include <algorithm>
#include <bit>

namespace octet::train {
namespace {

constexpr int32_t kSignless = 0x7fffffff, kInfinity = 0x7f800000, kNan = 0x7fc00000;

/// `largest` is a number of the format, `least_normal` its smallest one with all mantissa bits.
template <int kMantissaBits>
void round_row(
    const float* x, float scale, float* y, int64_t count, float largest, float least_normal) {
  constexpr int kDropped = 23 - kMantissaBits;
  constexpr int32_t kHalf = (1 << (kDropped - 1)) - 1;
  const auto most = std::bit_cast<int32_t>(largest);
  const auto normal = std::bit_cast<int32_t>(least_normal);
  // Numbers below are as far apart as floats from here on.
  const float coarse = least_normal * static_cast<float>(1 << kDropped);
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<int32_t>(x[i] * scale);
    const int32_t size = bits & kSignless, clamped = std::min(size, most);
    const int32_t kept = (clamped + kHalf + (clamped >> kDropped & 1)) & ~((1 << kDropped) - 1);
    const float small = (std::bit_cast<float>(clamped) + coarse) - coarse;
    const int32_t rounded = clamped < normal ? std::bit_cast<int32_t>(small) : kept;
    const int32_t result = size > kInfinity ? kNan : rounded;
    y[i] = std::bit_cast<float>(result | (bits & ~kSignless));
  }
}

} // namespace

void round_row_e4m3fn(const float* x, float scale, float* y, int64_t count) {
  round_row<3>(x, scale, y, count, 448.0F, 0x1p-6F);
}

void round_row_e5m2(const float* x, float scale, float* y, int64_t count) {
  round_row<2>(x, scale, y, count, 57344.0F, 0x1p-14F);
}

float largest_magnitude(const float* x, int64_t count) {
  // As integers magnitudes have the order of their numbers, NaN above all.
  int32_t largest = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<int32_t>(x[i]) & kSignless);
  return std::bit_cast<float>(largest);
}

} // namespace octet::train
