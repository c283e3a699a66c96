// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/int16_pairs.h"

#include <algorithm>
#include <cmath>

namespace octet {

namespace {

constexpr double kFactorStep = 1.002;
constexpr int kMostSteps = 2500; // 1.002^2500 = 148: beside 127 the other weight is 1 by then
constexpr double kLowestCode = -128, kHighestCode = 127;

int32_t coarser(double weight, double factor) {
  return static_cast<int32_t>(
      std::clamp(std::nearbyint(weight / factor), kLowestCode, kHighestCode));
}

/// Below this factor some pair surely saturates where activations take all codes: two codes that add
/// up to more than 128 do, and rounding takes at most 1 from their sum.
double surely_too_small(std::span<const double> weights, std::span<const CodeSpan> activations) {
  constexpr double kSafeSum = 128;
  const bool all = std::any_of(activations.begin(), activations.end(), [](const CodeSpan& span) {
    return span.lowest <= 0 && span.highest >= 255;
  });
  if (!all) return 1;
  double largest = 0;
  for (size_t k = 0; k + 1 < weights.size(); k += 2) {
    const double a = std::clamp(weights[k], kLowestCode, kHighestCode),
                 b = std::clamp(weights[k + 1], kLowestCode, kHighestCode);
    largest = std::max(
        {largest, std::max(a, 0.0) + std::max(b, 0.0), -std::min(a, 0.0) - std::min(b, 0.0)});
  }
  return largest / (kSafeSum + 1);
}

} // namespace

PairBounds pair_bounds(int32_t v, int32_t w, const CodeSpan& activations) {
  PairBounds out;
  for (const int32_t weight : {v, w}) {
    out.high += std::max(weight * activations.lowest, weight * activations.highest);
    out.low += std::min(weight * activations.lowest, weight * activations.highest);
  }
  return out;
}

bool can_saturate(std::span<const double> weights,
                  double factor,
                  std::span<const CodeSpan> activations) {
  for (size_t k = 0; k < weights.size(); k += 2) {
    const int32_t a = coarser(weights[k], factor);
    const int32_t b = k + 1 < weights.size() ? coarser(weights[k + 1], factor) : 0;
    for (const CodeSpan& span : activations)
      if (pair_bounds(a, b, span).can_saturate()) return true;
  }
  return false;
}

double next_factor(double factor) {
  return factor * kFactorStep;
}

double least_safe_factor(std::span<const double> weights, std::span<const CodeSpan> activations) {
  const double too_small = surely_too_small(weights, activations);
  double factor = 1;
  for (int step = 0; step < kMostSteps; ++step, factor = next_factor(factor))
    if (factor >= too_small && !can_saturate(weights, factor, activations)) break;
  return factor;
}

} // namespace octet
