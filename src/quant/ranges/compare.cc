// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "quant/scheme.h"

#include "octet/ranges.h"

namespace octet {

namespace {

/// What the codes of a range stand for: of symmetric ones both ends are the magnitude.
Range covered(const Range& range, bool symmetric) {
  if (!symmetric) return {std::min(range.lo, 0.0), std::max(range.hi, 0.0)};
  const double magnitude = std::max(std::fabs(range.lo), std::fabs(range.hi));
  return {-magnitude, magnitude};
}

RangeDifference difference(const TensorRange& before, const TensorRange& after, bool symmetric) {
  RangeDifference out{before.tensor, before.range, after.range};
  const Range a = covered(before.range, symmetric), b = covered(after.range, symmetric);
  if (a == b) return out;
  const bool empty = a.lo == a.hi;
  const Scheme scheme{DType::kInt8, symmetric, false};
  const auto step = static_cast<double>(parameters_for(scheme, empty ? b : a).scale);
  out.steps = std::max(std::fabs(a.lo - b.lo), std::fabs(a.hi - b.hi)) / step;
  const double width = a.hi - a.lo, changed = b.hi - b.lo;
  out.percent = 100 * (changed - width) / (empty ? changed : width);
  return out;
}

} // namespace

std::vector<RangeDifference> compare_ranges(const std::vector<TensorRange>& before,
                                            const std::vector<TensorRange>& after,
                                            bool symmetric,
                                            double tolerance_steps) {
  std::map<std::string_view, const TensorRange*> others;
  for (const TensorRange& r : after)
    others[r.tensor] = &r;
  std::vector<RangeDifference> alone, differ;
  for (const TensorRange& r : before) {
    const auto found = others.find(r.tensor);
    if (found == others.end()) {
      alone.push_back({r.tensor, r.range, std::nullopt});
      continue;
    }
    RangeDifference d = difference(r, *found->second, symmetric);
    if (d.steps > tolerance_steps) differ.push_back(std::move(d));
    others.erase(found);
  }
  for (const TensorRange& r : after)
    if (others.contains(r.tensor)) alone.push_back({r.tensor, std::nullopt, r.range});
  std::stable_sort(differ.begin(), differ.end(),
                   [](const auto& x, const auto& y) { return x.steps > y.steps; });
  std::move(differ.begin(), differ.end(), std::back_inserter(alone));
  return alone;
}

} // namespace octet
