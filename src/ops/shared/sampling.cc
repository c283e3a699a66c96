// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/sampling.h"

namespace octet {

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
