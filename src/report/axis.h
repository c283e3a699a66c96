// SPDX-License-Identifier: Apache-2.0
// The round numbers of an axis.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace octet {

/// 1, 2 or 5 times a power of ten: the least step of which about `most` fit into `span`.
inline double axis_step(double span, double most) {
  constexpr double kLeastSpan = 1e-9;
  const double least = std::max(span, kLeastSpan) / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

/// Multiples of that step between two numbers, low < high.
inline std::vector<double> axis_marks(double low, double high, double most) {
  const double step = axis_step(high - low, most);
  std::vector<double> out;
  for (double i = std::ceil(low / step); i * step <= high; ++i)
    out.push_back(i * step);
  return out;
}

} // namespace octet
