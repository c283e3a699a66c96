// SPDX-License-Identifier: Apache-2.0
// The weights of Resize along one axis: which elements of x each element of y is made of.
// Source: the operator text of Resize (opset 19) and its reference evaluator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/result.h"

namespace octet {

enum class Interpolation { kNearest, kLinear, kCubic };
enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
enum class Nearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

struct ResizeMode {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kRoundPreferFloor;
  double cubic_a = -0.75;
  bool exclude_outside = false; ///< elements beyond the edge get no weight
  bool antialias = false;       ///< widen the filter when shrinking
};

struct ResizeAxis {
  int64_t in = 0, out = 0;
  double scale = 1;
  double roi_start = 0, roi_end = 1; ///< for kTfCropAndResize, as parts of the axis
};

struct ResizeWeights {
  std::vector<int64_t> index; ///< clamped to the axis
  std::vector<double> weight;
  bool outside = false; ///< y takes the extrapolation value here
};

/// For element `at` of y.
ResizeWeights resize_weights(const ResizeMode& mode, const ResizeAxis& axis, int64_t at);

} // namespace octet
