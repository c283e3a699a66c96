// SPDX-License-Identifier: Apache-2.0
// Sums as vpmaddubsw adds them up: two products at a time, saturated to int16.
#pragma once

#include <cstdint>
#include <span>

namespace octet {

/// The exact sum, and the one with each pair saturated. A last term without a neighbour stands
/// alone. Spans of one length.
struct TwoSums {
  int64_t exact = 0, saturated = 0;
};
TwoSums add_up(std::span<const uint8_t> activations, std::span<const int8_t> weights);

} // namespace octet
