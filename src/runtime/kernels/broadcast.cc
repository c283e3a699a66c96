// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/broadcast.h"

#include "runtime/kernels/broadcast_runs.h"

namespace octet::kernels {

BroadcastPlan plan_broadcast(std::span<const std::vector<int64_t>> inputs,
                             std::span<const int64_t> output) {
  BroadcastPlan plan;
  plan.strides.resize(inputs.size());
  std::vector<std::vector<int64_t>> strides(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    strides[k].assign(output.size(), 0);
    int64_t stride = 1;
    for (size_t i = 0; i < inputs[k].size(); ++i) {
      const size_t axis = inputs[k].size() - 1 - i;
      if (inputs[k][axis] != 1) strides[k][output.size() - 1 - i] = stride;
      stride *= inputs[k][axis];
    }
  }
  for (size_t i = 0; i < output.size(); ++i) {
    if (output[i] == 1) continue;
    bool joins = !plan.sizes.empty();
    for (size_t k = 0; k < inputs.size() && joins; ++k) {
      joins = plan.strides[k].back() == strides[k][i] * output[i];
    }
    if (joins) plan.sizes.back() *= output[i];
    if (!joins) plan.sizes.push_back(output[i]);
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (joins) plan.strides[k].pop_back();
      plan.strides[k].push_back(strides[k][i]);
    }
  }
  if (plan.sizes.empty()) {
    plan.sizes = {1};
    for (auto& s : plan.strides) {
      s = {1};
    }
  }
  return plan;
}

template <typename T>
void where_broadcast(const BroadcastPlan& plan,
                     const uint8_t* condition,
                     const T* a,
                     const T* b,
                     T* y,
                     ParallelFor& parallel) {
  const BroadcastOffsets step = {plan.strides[0].back(), plan.strides[1].back(),
                                 plan.strides[2].back()};
  each_run(plan, parallel, [&](const BroadcastOffsets& from, int64_t to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      y[to + i] = condition[from[0] + i * step[0]] != 0 ? a[from[1] + i * step[1]]
                                                        : b[from[2] + i * step[2]];
    }
  });
}

template void where_broadcast(
    const BroadcastPlan&, const uint8_t*, const uint8_t*, const uint8_t*, uint8_t*, ParallelFor&);
template void where_broadcast(const BroadcastPlan&,
                              const uint8_t*,
                              const uint16_t*,
                              const uint16_t*,
                              uint16_t*,
                              ParallelFor&);
template void where_broadcast(const BroadcastPlan&,
                              const uint8_t*,
                              const uint32_t*,
                              const uint32_t*,
                              uint32_t*,
                              ParallelFor&);
template void where_broadcast(const BroadcastPlan&,
                              const uint8_t*,
                              const uint64_t*,
                              const uint64_t*,
                              uint64_t*,
                              ParallelFor&);

template <typename T>
void compare_broadcast(Compare op,
                       const BroadcastPlan& plan,
                       const T* a,
                       const T* b,
                       uint8_t* y,
                       ParallelFor& parallel) {
  const auto map = [&](auto holds) {
    map_pairs(plan, a, b, y, parallel,
              [holds](T p, T q) { return static_cast<uint8_t>(holds(p, q) ? 1 : 0); });
  };
  switch (op) {
  case Compare::kEqual:
    return map([](T p, T q) { return p == q; });
  case Compare::kLess:
    return map([](T p, T q) { return p < q; });
  case Compare::kLessOrEqual:
    return map([](T p, T q) { return p <= q; });
  case Compare::kGreater:
    return map([](T p, T q) { return p > q; });
  case Compare::kGreaterOrEqual:
    return map([](T p, T q) { return p >= q; });
  }
}

template void compare_broadcast(
    Compare, const BroadcastPlan&, const float*, const float*, uint8_t*, ParallelFor&);
template void compare_broadcast(
    Compare, const BroadcastPlan&, const int32_t*, const int32_t*, uint8_t*, ParallelFor&);
template void compare_broadcast(
    Compare, const BroadcastPlan&, const int64_t*, const int64_t*, uint8_t*, ParallelFor&);
template void compare_broadcast(
    Compare, const BroadcastPlan&, const uint8_t*, const uint8_t*, uint8_t*, ParallelFor&);
template void compare_broadcast(
    Compare, const BroadcastPlan&, const int8_t*, const int8_t*, uint8_t*, ParallelFor&);

void logic_broadcast(Logic op,
                     const BroadcastPlan& plan,
                     const uint8_t* a,
                     const uint8_t* b,
                     uint8_t* y,
                     ParallelFor& parallel) {
  const auto map = [&](auto holds) {
    map_pairs(plan, a, b, y, parallel, [holds](uint8_t p, uint8_t q) {
      return static_cast<uint8_t>(holds(p != 0, q != 0) ? 1 : 0);
    });
  };
  switch (op) {
  case Logic::kAnd:
    return map([](bool p, bool q) { return p & q; });
  case Logic::kOr:
    return map([](bool p, bool q) { return p | q; });
  case Logic::kXor:
    return map([](bool p, bool q) { return p != q; });
  }
}

} // namespace octet::kernels
