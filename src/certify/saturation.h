// SPDX-License-Identifier: Apache-2.0
// Sums as vpmaddubsw adds them up: two products at a time, saturated to int16.
#pragma once

#include <cstdint>
#include <span>

namespace octet {

/// Largest magnitude of a * v + b * w over activations a, b from lowest to highest. Above 32767
/// (below -32768) the pair can saturate.
struct PairBounds {
  int64_t low = 0, high = 0;
  bool can_saturate() const { return low < -32768 || high > 32767; }
};
PairBounds pair_bounds(int32_t v, int32_t w, int32_t lowest, int32_t highest);

/// The exact sum, and the one with each pair saturated. A last term without a neighbour stands
/// alone. Spans of one length.
struct TwoSums {
  int64_t exact = 0, saturated = 0;
};
TwoSums add_up(std::span<const uint8_t> activations, std::span<const int8_t> weights);

} // namespace octet
