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

namespace {

/// y = condition ? a(i) : b(i). Both are read, so that the loop has no branch.
template <typename T, typename A, typename B>
void choose_run(const uint8_t* condition, A a, B b, int64_t n, T* y) {
  for (int64_t i = 0; i < n; ++i) {
    const T p = a(i);
    const T q = b(i);
    const T chosen = static_cast<T>(-static_cast<T>(condition[i] != 0));
    y[i] = static_cast<T>((p & chosen) | (q & static_cast<T>(~chosen)));
  }
}

/// What lies along a run, or the one that repeats.
template <typename T>
void copy_run(const T* from, int64_t step, int64_t n, T* y) {
  if (step == 1) {
    std::copy_n(from, n, y);
  } else {
    std::fill_n(y, n, *from);
  }
}

} // namespace

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
    const uint8_t* c = condition + from[0];
    const T* p = a + from[1];
    const T* q = b + from[2];
    if (step[0] == 0) {
      return *c != 0 ? copy_run(p, step[1], n, y + to) : copy_run(q, step[2], n, y + to);
    }
    const auto each_p = [p](int64_t i) { return p[i]; };
    const auto each_q = [q](int64_t i) { return q[i]; };
    const auto one_p = [v = *p](int64_t) { return v; };
    const auto one_q = [v = *q](int64_t) { return v; };
    if (step[1] == 1 && step[2] == 1) return choose_run(c, each_p, each_q, n, y + to);
    if (step[1] == 1) return choose_run(c, each_p, one_q, n, y + to);
    if (step[2] == 1) return choose_run(c, one_p, each_q, n, y + to);
    choose_run(c, one_p, one_q, n, y + to);
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
