// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena.h"

#include <algorithm>
#include <numeric>

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

} // namespace octet::runtime
