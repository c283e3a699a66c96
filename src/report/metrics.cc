// SPDX-License-Identifier: Apache-2.0
#include "octet/metrics.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace octet {

std::pair<double, double> wilson_interval(int64_t hits, int64_t n) {
  if (n <= 0) return {0, 1};
  constexpr double kZ = 1.959963984540054; // the normal distribution's 97.5 % quantile
  const double count = static_cast<double>(n);
  const double p = static_cast<double>(hits) / count;
  const double spread = kZ * std::sqrt(p * (1 - p) / count + kZ * kZ / (4 * count * count));
  const double middle = p + kZ * kZ / (2 * count);
  const double scale = 1 + kZ * kZ / count;
  return {std::max(0.0, (middle - spread) / scale), std::min(1.0, (middle + spread) / scale)};
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

Result<std::vector<int64_t>> top1(const Tensor& scores) {
  if (scores.rank() != 2 || scores.dim(1) < 1)
    return error("scores of shape {} are no [n, classes]", to_string(scores.shape()));
  const std::vector<double> values = OCTET_TRY(scores.to_doubles());
  const int64_t classes = scores.dim(1);
  std::vector<int64_t> best;
  for (int64_t n = 0; n < scores.dim(0); ++n) {
    const auto row = values.begin() + n * classes;
    best.push_back(std::max_element(row, row + classes) - row);
  }
  return best;
}

} // namespace octet
