// SPDX-License-Identifier: Apache-2.0
// Two products of uint8 and int8 added in int16, as vpmaddubsw does: what can saturate there.
#pragma once

#include <cstdint>
#include <span>

namespace octet {

/// Codes that an activation can take, as uint8.
struct CodeSpan {
  int32_t lowest = 0, highest = 255;
};

/// Least and largest a * v + b * w over activations a, b of the span.
struct PairBounds {
  int64_t low = 0, high = 0;
  bool can_saturate() const { return low < -32768 || high > 32767; }
};
PairBounds pair_bounds(int32_t v, int32_t w, const CodeSpan& activations);

/// Whether neighbours of these weights, in steps of their codes, can saturate once they are divided
/// by the factor, rounded, and cut to int8, for activations of one of the spans. A last one without a
/// neighbour stands alone.
bool can_saturate(std::span<const double> weights,
                  double factor,
                  std::span<const CodeSpan> activations);
/// The least factor, in steps of 0.2 %, at which they cannot.
double least_safe_factor(std::span<const double> weights, std::span<const CodeSpan> activations);
/// The next step.
double next_factor(double factor);

} // namespace octet
