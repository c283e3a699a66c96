// SPDX-License-Identifier: Apache-2.0
#include "quant/gram/code_grid.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "quant/scheme.h"

namespace octet {

CodeGrid CodeGrid::whole(double lowest, double highest) {
  CodeGrid out;
  out.lowest_ = lowest;
  out.highest_ = highest;
  return out;
}

CodeGrid CodeGrid::of(const Scheme& scheme, int32_t zero_point) {
  const Codes limits = codes(scheme);
  if (is_integer(scheme.type))
    return whole(limits.lowest - zero_point, limits.highest - zero_point);
  CodeGrid out = whole(limits.lowest, limits.highest);
  out.format_ = float_format(scheme.type);
  OCTET_CHECK(out.format_ != nullptr && out.format_->width() <= 8);
  for (uint32_t code = 0; code < (1U << static_cast<uint32_t>(out.format_->width())); ++code) {
    const double number = decode(*out.format_, code);
    if (std::isfinite(number)) out.numbers_.push_back(number);
  }
  std::sort(out.numbers_.begin(), out.numbers_.end());
  out.numbers_.erase(std::unique(out.numbers_.begin(), out.numbers_.end()), out.numbers_.end());
  return out;
}

double CodeGrid::nearest(double x) const {
  if (format_ == nullptr) return std::clamp(std::nearbyint(x), lowest_, highest_);
  return decode(*format_, encode(*format_, std::clamp(x, lowest_, highest_)));
}

CodeGrid::Sides CodeGrid::sides(double x) const {
  if (x < lowest_) return {lowest_, lowest_};
  if (!(x < highest_)) return {highest_, highest_};
  if (format_ == nullptr) return {std::floor(x), std::floor(x) + 1};
  const auto above = std::upper_bound(numbers_.begin(), numbers_.end(), x);
  return {*(above - 1), *above};
}

} // namespace octet
