// SPDX-License-Identifier: Apache-2.0
// The loop of every kernel whose operands broadcast.
#pragma once

#include <algorithm>
#include <array>

#include "core/threads.h"
#include "runtime/kernels/broadcast.h"

namespace octet::kernels {

constexpr double kBroadcastElementNs = 0.4;
constexpr double kBroadcastRunNs = 5.0;

/// One for each of up to three inputs, in elements.
using BroadcastOffsets = std::array<int64_t, 3>;

/// Calls run(offsets of the inputs, offset of the output, count) for the runs along the last axis.
/// One long run is cut; many short ones are dealt out.
template <typename Run>
void each_run(const BroadcastPlan& plan, ParallelFor& parallel, Run&& run) {
  const size_t outer = plan.sizes.size() - 1;
  int64_t runs = 1;
  for (size_t i = 0; i < outer; ++i) {
    runs *= plan.sizes[i];
  }
  const int64_t length = plan.sizes.back();
  if (runs <= 0 || length <= 0) return;
  const int64_t piece = outer > 0 ? length : grain_for(kBroadcastElementNs);
  const int64_t pieces = (length + piece - 1) / piece;
  const int64_t grain =
      grain_for(kBroadcastRunNs + kBroadcastElementNs * static_cast<double>(piece));
  parallel.run(runs * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      BroadcastOffsets offsets{};
      const int64_t first = r % pieces * piece;
      int64_t rest = r / pieces;
      for (size_t k = 0; k < plan.strides.size(); ++k) {
        offsets[k] = first * plan.strides[k].back();
      }
      for (size_t i = outer; i-- > 0;) {
        const int64_t at = rest % plan.sizes[i];
        rest /= plan.sizes[i];
        for (size_t k = 0; k < plan.strides.size(); ++k) {
          offsets[k] += at * plan.strides[k][i];
        }
      }
      run(offsets, r / pieces * length + first, std::min(piece, length - first));
    }
  });
}

/// y = op(a, b) along one run; steps are 0 or 1.
template <typename T, typename Y, typename Op>
void pairs(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t n, Y* y, Op op) {
  if (a_step == 1 && b_step == 1) {
    for (int64_t i = 0; i < n; ++i) {
      y[i] = op(a[i], b[i]);
    }
    return;
  }
  if (a_step == 1) {
    const T v = *b;
    for (int64_t i = 0; i < n; ++i) {
      y[i] = op(a[i], v);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    y[i] = op(*a, b[i * b_step]);
  }
}

/// y = op(a, b).
template <typename T, typename Y, typename Op>
void map_pairs(
    const BroadcastPlan& plan, const T* a, const T* b, Y* y, ParallelFor& parallel, Op op) {
  const int64_t a_step = plan.strides[0].back();
  const int64_t b_step = plan.strides[1].back();
  each_run(plan, parallel, [&](const BroadcastOffsets& from, int64_t to, int64_t n) {
    pairs(a + from[0], a_step, b + from[1], b_step, n, y + to, op);
  });
}

} // namespace octet::kernels
