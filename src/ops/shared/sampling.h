// SPDX-License-Identifier: Apache-2.0
// Values of an image between its elements, as GridSample and DeformConv read them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

enum class Sampling { kNearest, kLinear, kCubic };
/// What lies beyond the image: zeros, its edge, its mirror image.
enum class Beyond { kZeros, kEdge, kMirror };

/// Where one element of the result takes its value along one axis: up to four elements and weights.
struct Taps {
  std::array<int64_t, 4> index{};
  std::array<double, 4> weight{};
  int count = 0;
};

struct SampledAxis {
  int64_t size = 1;
  double low = 0,
         high = 0; ///< what the mirror image turns at: 0 and size - 1, or half an element out
};

namespace sampling {

/// Farther out than any image reaches.
inline constexpr double kFar = 1e12;

inline double mirrored(double place, double low, double high) {
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
inline std::array<double, 4> cubic_weights(double x) {
  constexpr double kA = -0.75;
  const auto outer = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const auto inner = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  return {outer(x + 1), inner(x), inner(1 - x), outer(2 - x)};
}

} // namespace sampling

/// Taps at a place in units of elements (0 is the middle of the first one). Elements that kZeros
/// reads as zero are left out. Inline: kernels call it for each place.
inline Taps taps_at(const SampledAxis& axis, double place, Sampling mode, Beyond beyond) {
  const auto last = static_cast<double>(axis.size - 1);
  if (!(std::fabs(place) < sampling::kFar))
    place = place > 0 ? sampling::kFar : -sampling::kFar; // NaN lies outside
  if (mode == Sampling::kNearest) place = std::nearbyint(place);
  if (beyond == Beyond::kEdge)
    place = std::clamp(place, std::min(axis.low, 0.0), std::max(axis.high, last));
  if (beyond == Beyond::kMirror) place = sampling::mirrored(place, axis.low, axis.high);
  int64_t first = static_cast<int64_t>(place);
  if (place < static_cast<double>(first)) --first; // the floor
  const double rest = place - static_cast<double>(first);
  std::array<double, 4> weights = {1, 0, 0, 0};
  int count = 1;
  if (mode == Sampling::kLinear) {
    weights = {1 - rest, rest, 0, 0};
    count = 2;
  } else if (mode == Sampling::kCubic) {
    weights = sampling::cubic_weights(rest);
    first -= 1;
    count = 4;
  }
  Taps taps;
  for (int i = 0; i < count; ++i) {
    double at = static_cast<double>(first + i);
    if (beyond == Beyond::kZeros && (at < 0 || at > last)) continue;
    if (beyond == Beyond::kMirror) at = std::trunc(sampling::mirrored(at, axis.low, axis.high));
    const auto slot = static_cast<size_t>(taps.count++);
    taps.index[slot] = static_cast<int64_t>(std::clamp(at, 0.0, last));
    taps.weight[slot] = weights[static_cast<size_t>(i)];
  }
  return taps;
}

/// The value of an image of up to three axes, from taps for each axis, outermost first.
double sample(const double* image, std::span<const SampledAxis> axes, std::span<const Taps> taps);

} // namespace octet
