// SPDX-License-Identifier: Apache-2.0
// The round numbers of an axis.
#pragma once

#include <cmath>
#include <vector>

namespace octet {

/// Multiples of 1, 2 or 5 times a power of ten between two numbers, low < high, about `most` of
/// them at most.
inline std::vector<double> axis_marks(double low, double high, double most) {
  const double least = (high - low) / most;
  const double ten = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * ten;
  for (const double times : {5.0, 2.0, 1.0})
    if (times * ten >= least) step = times * ten;
  std::vector<double> out;
  for (double i = std::ceil(low / step); i * step <= high; ++i)
    out.push_back(i * step);
  return out;
}

} // namespace octet
