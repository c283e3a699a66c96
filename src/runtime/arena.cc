// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace octet::runtime {

ArenaPlan plan_arena(std::span<const Lifetime> values) {
  constexpr size_t kAlignment = 64;
  ArenaPlan plan;
  plan.offsets.assign(values.size(), 0);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a].size_bytes > values[b].size_bytes; });
  std::vector<size_t> placed; // in order of offset
  for (const size_t i : order) {
    if (values[i].size_bytes == 0) break; // so are all that follow
    const size_t size = (values[i].size_bytes + kAlignment - 1) / kAlignment * kAlignment;
    size_t at = 0;
    for (const size_t other : placed) {
      const bool together =
          values[other].first <= values[i].last && values[i].first <= values[other].last;
      if (!together) continue;
      if (plan.offsets[other] >= at + size) break;
      const size_t end = plan.offsets[other] +
                         (values[other].size_bytes + kAlignment - 1) / kAlignment * kAlignment;
      at = std::max(at, end);
    }
    plan.offsets[i] = at;
    plan.size_bytes = std::max(plan.size_bytes, at + size);
    const auto after = std::find_if(placed.begin(), placed.end(),
                                    [&](size_t other) { return plan.offsets[other] > at; });
    placed.insert(after, i);
  }
  return plan;
}

Layout::Layout(std::vector<Lifetime> values)
    : values_(std::move(values)), places_(plan_arena(values_)) {}

bool Layout::fits(std::span<const Lifetime> values) const {
  return std::equal(
      values.begin(), values.end(), values_.begin(), values_.end(),
      [](const Lifetime& a, const Lifetime& b) { return a.first == b.first && a.last == b.last; });
}

bool Layout::hold(std::span<const Lifetime> values) {
  bool grown = false;
  for (size_t i = 0; i < values.size(); ++i) {
    grown = grown || values[i].size_bytes > values_[i].size_bytes;
    values_[i].size_bytes = std::max(values_[i].size_bytes, values[i].size_bytes);
  }
  if (grown) places_ = plan_arena(values_);
  return grown;
}

} // namespace octet::runtime
