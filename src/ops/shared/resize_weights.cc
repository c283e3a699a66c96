// SPDX-License-Identifier: Apache-2.0
// The weights of Resize along one axis; see resize_weights.h.
#include "ops/shared/resize_weights.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

/// Where element `at` of y lies in x.
double source(const ResizeMode& mode, const ResizeAxis& a, double at) {
  const auto in = static_cast<double>(a.in);
  const double out = a.scale * in;
  switch (mode.coordinates) {
  case Coordinates::kAlignCorners:
    return out == 1 ? 0 : at * (in - 1) / (out - 1);
  case Coordinates::kAsymmetric:
    return at / a.scale;
  case Coordinates::kPytorchHalfPixel:
    return out == 1 ? -0.5 : (at + 0.5) / a.scale - 0.5;
  case Coordinates::kHalfPixel:
    return (at + 0.5) / a.scale - 0.5;
  case Coordinates::kHalfPixelSymmetric: {
    const double adjustment = static_cast<double>(a.out) / out;
    return in / 2 * (1 - adjustment) + (at + 0.5) / a.scale - 0.5;
  }
  case Coordinates::kTfHalfPixelForNn:
    return a.scale == 1 ? at : (at + 0.5) / a.scale; // an axis that keeps its size is not moved
  case Coordinates::kTfCropAndResize:
    break;
  }
  const double width = (a.roi_end - a.roi_start) * (in - 1);
  return a.roi_start * (in - 1) + (out == 1 ? width / 2 : at * width / (out - 1));
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

std::vector<double> nearest(Nearest mode, double ratio) {
  bool right = true;
  if (ratio < 1) {
    switch (mode) {
    case Nearest::kRoundPreferFloor:
      right = ratio > 0.5;
      break;
    case Nearest::kRoundPreferCeil:
      right = ratio >= 0.5;
      break;
    case Nearest::kFloor:
      right = false;
      break;
    case Nearest::kCeil:
      break;
    }
  }
  return {right ? 0.0 : 1.0, right ? 1.0 : 0.0};
}

/// Weights of an even number of neighbours; `ratio` in (0, 1] is the distance from the one left of
/// the middle.
std::vector<double> filter(const ResizeMode& mode, double scale, double ratio) {
  if (mode.interpolation == Interpolation::kNearest) return nearest(mode.nearest, ratio);
  const bool linear = mode.interpolation == Interpolation::kLinear;
  const double shrink = mode.antialias ? std::min(scale, 1.0) : 1;
  const double reach = linear ? 1 : 2;
  const auto first = static_cast<int64_t>(std::floor(-reach / shrink)) + 1;
  std::vector<double> out;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double x = (static_cast<double>(i) - ratio) * shrink;
    out.push_back(linear ? std::clamp(1 - std::abs(x), 0.0, 1.0) : cubic(x, mode.cubic_a));
    sum += out.back();
  }
  if (mode.antialias)
    for (double& w : out)
      w /= sum;
  return out;
}

} // namespace

ResizeWeights resize_weights(const ResizeMode& mode, const ResizeAxis& axis, int64_t at) {
  ResizeWeights w;
  const double x = source(mode, axis, static_cast<double>(at));
  const double last = static_cast<double>(axis.in) - 1;
  w.outside = mode.coordinates == Coordinates::kTfCropAndResize && !(x >= 0 && x <= last);
  if (w.outside) return w;
  const double left = std::ceil(x) - 1;
  w.weight = filter(mode, axis.scale, x - left);
  const int64_t first = static_cast<int64_t>(left) + 1 - static_cast<int64_t>(w.weight.size()) / 2;
  double sum = 0;
  for (size_t i = 0; i < w.weight.size(); ++i) {
    const int64_t k = first + static_cast<int64_t>(i);
    if (mode.exclude_outside && (k < 0 || k >= axis.in)) w.weight[i] = 0;
    w.index.push_back(std::clamp<int64_t>(k, 0, axis.in - 1));
    sum += w.weight[i];
  }
  if (mode.exclude_outside)
    for (double& each : w.weight)
      each /= sum;
  return w;
}

} // namespace octet
