// SPDX-License-Identifier: Apache-2.0
#include "report/value_histogram.h"

#include <algorithm>
#include <cmath>

namespace octet {

ValueHistogram value_histogram(const TensorView& view, size_t bins) {
  const Histogram& seen = view.histogram();
  Range range = view.grid_range().value_or(Range{});
  if (!std::isfinite(range.lo) || !std::isfinite(range.hi)) range = {}; // of a floating format
  ValueHistogram out;
  out.low = std::min({view.lowest(), range.lo, 0.0});
  out.high = std::max({view.highest(), range.hi, 0.0});
  out.counts.assign(bins, 0);
  const double width = (out.high - out.low) / static_cast<double>(bins);
  const auto add = [&](double value, double count) {
    if (!(width > 0) || count == 0) return;
    const auto bin = static_cast<size_t>(
        std::clamp((value - out.low) / width, 0.0, static_cast<double>(bins - 1)));
    out.counts[bin] += count;
  };
  const double step = seen.width();
  for (size_t i = 0; i < seen.positive().size(); ++i)
    add((static_cast<double>(i) + 0.5) * step, static_cast<double>(seen.positive()[i]));
  for (size_t i = 0; i < seen.negative().size(); ++i)
    add(-(static_cast<double>(i) + 0.5) * step, static_cast<double>(seen.negative()[i]));
  add(0, static_cast<double>(seen.zeros()));
  return out;
}

} // namespace octet
