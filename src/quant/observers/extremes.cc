// SPDX-License-Identifier: Apache-2.0
// Lanes that do not wait for each other, which compilers turn into vectors.
#include "quant/observers/extremes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace octet {

namespace {

constexpr size_t kLanes = 16;

} // namespace

Extremes extremes_of(std::span<const float> finite) {
  std::array<float, kLanes> lo;
  std::array<float, kLanes> hi;
  lo.fill(finite[0]);
  hi.fill(finite[0]);
  size_t i = 0;
  for (; i + kLanes <= finite.size(); i += kLanes) {
    const float* x = finite.data() + i;
    for (size_t j = 0; j < kLanes; ++j)
      lo[j] = x[j] < lo[j] ? x[j] : lo[j];
    for (size_t j = 0; j < kLanes; ++j)
      hi[j] = x[j] > hi[j] ? x[j] : hi[j];
  }
  for (; i < finite.size(); ++i) {
    lo[0] = std::min(lo[0], finite[i]);
    hi[0] = std::max(hi[0], finite[i]);
  }
  return {*std::min_element(lo.begin(), lo.end()), *std::max_element(hi.begin(), hi.end())};
}

bool all_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000U;
  constexpr size_t kBlock = 4096;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, values.size());
    uint32_t found = 0;
    for (size_t i = begin; i < end; ++i)
      found |= (std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent ? 1U : 0U;
    if (found != 0) return false;
  }
  return true;
}

} // namespace octet
