// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet {

std::vector<std::complex<double>> fourier(std::span<const std::complex<double>> x,
                                          int64_t length,
                                          int64_t count,
                                          Direction direction) {
  const double sign = direction == Direction::kForward ? -1 : 1;
  std::vector<std::complex<double>> roots(static_cast<size_t>(length));
  for (size_t i = 0; i < roots.size(); ++i)
    roots[i] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(i) /
                                   static_cast<double>(length));
  std::vector<std::complex<double>> y(static_cast<size_t>(count));
  const int64_t terms = std::min(static_cast<int64_t>(x.size()), length);
  for (int64_t k = 0; k < count; ++k) {
    std::complex<double> sum = 0;
    int64_t turn = 0; // k n modulo the length
    for (int64_t n = 0; n < terms; ++n) {
      sum += x[static_cast<size_t>(n)] * roots[static_cast<size_t>(turn)];
      turn = (turn + k) % length;
    }
    const double scale = direction == Direction::kInverse ? static_cast<double>(length) : 1.0;
    y[static_cast<size_t>(k)] = sum / scale;
  }
  return y;
}

} // namespace octet
