// SPDX-License-Identifier: Apache-2.0
// A histogram as JSON. What is read has to hold together as numbers do that were counted: calibrators
// look for the bins of the extremes where these say they are.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "quant/observers/histogram.h"
#include "quant/observers/state.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

nlohmann::ordered_json bins_json(std::span<const uint64_t> bins) {
  const auto counted = [](uint64_t count) { return count > 0; };
  auto out = nlohmann::ordered_json::array();
  const auto first = std::find_if(bins.begin(), bins.end(), counted);
  if (first == bins.end()) return out;
  const auto last = std::find_if(bins.rbegin(), bins.rend(), counted).base();
  out.push_back(first - bins.begin());
  for (auto bin = first; bin != last; ++bin)
    out.push_back(*bin);
  return out;
}

/// All bins of one side, none where it holds nothing.
Result<std::vector<uint64_t>> read_bins(const nlohmann::json& list) {
  constexpr size_t kAll = Histogram::kBins;
  if (!list.is_array() || list.size() == 1) return error("no list of a bin and counts");
  std::vector<uint64_t> out;
  if (list.empty()) return out;
  const auto first = static_cast<size_t>(OCTET_TRY(read_count(list[0])));
  if (first >= kAll || list.size() - 1 > kAll - first)
    return error("bins from {} on, {} of them, where there are {}", first, list.size() - 1, kAll);
  out.assign(kAll, 0);
  for (size_t i = 1; i < list.size(); ++i)
    out[first + i - 1] = static_cast<uint64_t>(OCTET_TRY(read_count(list[i])));
  if (out[first] == 0 || out[first + list.size() - 2] == 0)
    return error("the first or the last bin is empty");
  return out;
}

/// Whether the outermost bin that holds something is that of `magnitude`; of no bins, whether there
/// is none to hold.
bool reaches(const std::vector<uint64_t>& bins, double magnitude, double width) {
  if (bins.empty() || magnitude <= 0) return bins.empty() && magnitude <= 0;
  const auto outermost = static_cast<size_t>(magnitude / width);
  return bins[outermost] > 0 &&
         std::all_of(bins.begin() + static_cast<std::ptrdiff_t>(outermost) + 1, bins.end(),
                     [](uint64_t count) { return count == 0; });
}

/// Whether what is closest to zero of one sign lies in the bin of `magnitude`.
bool begins(const std::vector<uint64_t>& bins, double magnitude, double width) {
  const auto first = std::find_if(bins.begin(), bins.end(), [](uint64_t n) { return n > 0; });
  return static_cast<size_t>(first - bins.begin()) == static_cast<size_t>(magnitude / width);
}

uint64_t total(const std::vector<uint64_t>& bins) {
  uint64_t sum = 0;
  for (const uint64_t count : bins)
    sum += count;
  return sum;
}

} // namespace

nlohmann::ordered_json Histogram::state() const {
  return {{"extremes", {min_, max_}},
          {"zeros", zeros_},
          {"positive", bins_json(positive_)},
          {"negative", bins_json(negative_)}};
}

Status Histogram::restore(const nlohmann::json& state) {
  Histogram out;
  const Extremes found = OCTET_TRY(read_extremes(*OCTET_TRY(member(state, "extremes"))));
  out.min_ = found.lo;
  out.max_ = found.hi;
  out.zeros_ = OCTET_TRY(read_count(*OCTET_TRY(member(state, "zeros"))));
  out.positive_ = OCTET_TRY_WITH(read_bins(*OCTET_TRY(member(state, "positive"))), "\"positive\"");
  out.negative_ = OCTET_TRY_WITH(read_bins(*OCTET_TRY(member(state, "negative"))), "\"negative\"");
  if (out.max_magnitude() > 0) out.widen(exponent_for(out.max_magnitude()));
  // 2 * kBins + 1 numbers up to kMostCounted do not overflow.
  const uint64_t count =
      total(out.positive_) + total(out.negative_) + static_cast<uint64_t>(out.zeros_);
  out.count_ = OCTET_TRY(read_count(count));
  const double width = out.width();
  const bool zero_is_extreme = out.min_ == 0 || out.max_ == 0;
  const bool one_sign = out.min_ > 0 || out.max_ < 0;
  if (count == 0 || !reaches(out.positive_, out.max_, width) ||
      !reaches(out.negative_, -out.min_, width) || (zero_is_extreme && out.zeros_ == 0) ||
      (one_sign && out.zeros_ > 0) || (out.min_ > 0 && !begins(out.positive_, out.min_, width)) ||
      (out.max_ < 0 && !begins(out.negative_, -out.max_, width)))
    return error("what is counted does not reach from {} to {}", out.min_, out.max_);
  *this = std::move(out);
  return ok_status();
}

} // namespace octet
