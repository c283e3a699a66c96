// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/sampling.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

/// Farther out than any image reaches.
constexpr double kFar = 1e12;

double mirrored(double place, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = place < low ? low - place : place - high;
  if (distance <= 0) return place;
  const double turns = std::trunc(distance / range);
  const double rest = distance - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (place < low) == even ? low + rest : high - rest;
}

/// Convolution weights of Keys with a = -0.75 for four elements around a fraction.
std::array<double, 4> cubic_weights(double x) {
  constexpr double kA = -0.75;
  const auto outer = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const auto inner = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  return {outer(x + 1), inner(x), inner(1 - x), outer(2 - x)};
}

} // namespace

Taps taps_at(const SampledAxis& axis, double place, Sampling mode, Beyond beyond) {
  const auto last = static_cast<double>(axis.size - 1);
  if (!(std::fabs(place) < kFar)) place = place > 0 ? kFar : -kFar; // NaN lies outside
  if (mode == Sampling::kNearest) place = std::nearbyint(place);
  if (beyond == Beyond::kEdge)
    place = std::clamp(place, std::min(axis.low, 0.0), std::max(axis.high, last));
  if (beyond == Beyond::kMirror) place = mirrored(place, axis.low, axis.high);
  const double floor = std::floor(place);
  std::array<double, 4> weights = {1, 0, 0, 0};
  int64_t first = static_cast<int64_t>(floor);
  int count = 1;
  if (mode == Sampling::kLinear) {
    weights = {1 - (place - floor), place - floor, 0, 0};
    count = 2;
  } else if (mode == Sampling::kCubic) {
    weights = cubic_weights(place - floor);
    first -= 1;
    count = 4;
  }
  Taps taps;
  for (int i = 0; i < count; ++i) {
    double at = static_cast<double>(first + i);
    if (beyond == Beyond::kZeros && (at < 0 || at > last)) continue;
    if (beyond == Beyond::kMirror) at = std::trunc(mirrored(at, axis.low, axis.high));
    const auto slot = static_cast<size_t>(taps.count++);
    taps.index[slot] = static_cast<int64_t>(std::clamp(at, 0.0, last));
    taps.weight[slot] = weights[static_cast<size_t>(i)];
  }
  return taps;
}

double sample(const double* image, std::span<const SampledAxis> axes, std::span<const Taps> taps) {
  const Taps& own = taps.front();
  double sum = 0;
  if (axes.size() == 1) {
    for (size_t i = 0; i < static_cast<size_t>(own.count); ++i)
      sum += own.weight[i] * image[own.index[i]];
    return sum;
  }
  int64_t inner = 1;
  for (const SampledAxis& a : axes.subspan(1))
    inner *= a.size;
  for (size_t i = 0; i < static_cast<size_t>(own.count); ++i) // at most three deep
    sum += own.weight[i] * sample(image + own.index[i] * inner, axes.subspan(1), taps.subspan(1));
  return sum;
}

} // namespace octet
