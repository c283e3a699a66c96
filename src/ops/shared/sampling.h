// SPDX-License-Identifier: Apache-2.0
// Values of an image between its elements, as GridSample and DeformConv read them.
#pragma once

#include <array>
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

/// Taps at a place in units of elements (0 is the middle of the first one). Elements that kZeros
/// reads as zero are left out.
Taps taps_at(const SampledAxis& axis, double place, Sampling mode, Beyond beyond);
/// The value of an image of up to three axes, from taps for each axis, outermost first.
double sample(const double* image, std::span<const SampledAxis> axes, std::span<const Taps> taps);

} // namespace octet
