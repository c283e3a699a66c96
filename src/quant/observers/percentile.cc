// SPDX-License-Identifier: Apache-2.0
// Percentile: of the magnitude for symmetric schemes, of each side for asymmetric ones. The value
// is the outer edge of the histogram bin that holds the element of that rank, so at most one bin
// width beyond it, and never beyond the extreme that was seen.
#include <algorithm>
#include <cmath>

#include "quant/observers/histogram_ranges.h"

namespace octet {

namespace {

/// Rank, from 1, of the p-th percentile among n elements (nearest rank).
uint64_t rank_of(double p, int64_t n) {
  const double rank = std::ceil(p / 100 * static_cast<double>(n));
  return static_cast<uint64_t>(std::clamp(rank, 1.0, static_cast<double>(n)));
}

/// The value that at least `rank` of all elements do not exceed, rounded up to a bin edge.
/// `above` counts upwards from zero, `below` downwards.
double upper_edge(std::span<const uint64_t> below,
                  uint64_t zeros,
                  std::span<const uint64_t> above,
                  double width,
                  uint64_t rank) {
  uint64_t seen = 0;
  for (size_t i = below.size(); i-- > 0;) {
    seen += below[i];
    if (seen >= rank) return -static_cast<double>(i) * width;
  }
  seen += zeros;
  if (seen >= rank) return 0;
  for (size_t i = 0; i < above.size(); ++i) {
    seen += above[i];
    if (seen >= rank) return static_cast<double>(i + 1) * width;
  }
  return static_cast<double>(above.size()) * width;
}

} // namespace

Range percentile_range(const Histogram& h, double p, const Scheme& scheme) {
  const uint64_t rank = rank_of(p, h.count());
  if (scheme.symmetric) {
    const std::vector<uint64_t> bins = h.magnitudes();
    const double edge = std::min(upper_edge({}, 0, bins, h.width(), rank), h.max_magnitude());
    return clipped_range(h, edge);
  }
  const auto zeros = static_cast<uint64_t>(h.zeros());
  const double hi = upper_edge(h.negative(), zeros, h.positive(), h.width(), rank);
  const double lo = -upper_edge(h.positive(), zeros, h.negative(), h.width(), rank);
  return {std::max(h.min(), lo), std::min(h.max(), hi)};
}

} // namespace octet
