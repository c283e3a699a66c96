// SPDX-License-Identifier: Apache-2.0
// The loops of reductions in plain C++: outputs beside each other are made side by side, so that
// their chains overlap. An Op has the types In and Partial, kStart and next(partial, in).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/threads.h"
#include "runtime/kernels/reduce.h"

namespace octet::kernels {

constexpr double kReduceElementNs = 0.4;
constexpr double kReduceBlockNs = 20.0;

template <typename Op, size_t kCount>
using Partials = std::array<typename Op::Partial, kCount>;
template <typename Op, size_t kCount>
using Rows = std::array<const typename Op::In*, kCount>;

inline int64_t count_of(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) {
    n *= size;
  }
  return n;
}

/// Offset of place `i` along all axes but the last.
inline int64_t offset_of(const AxisList& axes, int64_t i) {
  int64_t offset = 0;
  for (size_t axis = axes.sizes.size() - 1; axis-- > 0;) {
    offset += i % axes.sizes[axis] * axes.strides[axis];
    i /= axes.sizes[axis];
  }
  return offset;
}

/// Calls run(x of the first output, its strides, length) for the runs of a block.
template <typename In, typename Run>
void each_run_of(const ReducePlan& plan, const In* x, Run&& run) {
  const int64_t n = plan.gone.sizes.back();
  const int64_t runs = n == 0 ? 0 : count_of(plan.gone.sizes) / n;
  for (int64_t r = 0; r < runs; ++r)
    run(x + offset_of(plan.gone, r), n);
}

/// Of lanes that lie beside each other. Partial results go by value, so that x cannot point at them.
template <typename Op, size_t kCount>
Partials<Op, kCount>
take_lines(const typename Op::In* x, int64_t stride, int64_t n, Partials<Op, kCount> r) {
  for (int64_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < kCount; ++k) {
      r[k] = Op::next(r[k], x[k]);
    }
    x += stride;
  }
  return r;
}

/// Of lanes anywhere.
template <typename Op, size_t kCount>
Partials<Op, kCount>
take_rows(const Rows<Op, kCount>& x, int64_t stride, int64_t n, Partials<Op, kCount> r) {
  for (int64_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < kCount; ++k) {
      r[k] = Op::next(r[k], x[k][i * stride]);
    }
  }
  return r;
}

/// The partial results of kCount outputs, the first of which starts at x.
template <typename Op, size_t kCount>
Partials<Op, kCount> partials_of(const ReducePlan& plan, const typename Op::In* x) {
  const int64_t lane_stride = plan.kept.strides.back();
  const int64_t stride = plan.gone.strides.back();
  const int64_t n = plan.gone.sizes.back();
  const int64_t runs = n == 0 ? 0 : count_of(plan.gone.sizes) / n;
  Partials<Op, kCount> r;
  r.fill(Op::kStart);
  for (int64_t run = 0; run < runs; ++run) {
    const typename Op::In* first = x + offset_of(plan.gone, run);
    if (lane_stride == 1) {
      r = take_lines<Op, kCount>(first, stride, n, r);
      continue;
    }
    Rows<Op, kCount> rows{};
    for (size_t k = 0; k < kCount; ++k) {
      rows[k] = first + static_cast<int64_t>(k) * lane_stride;
    }
    r = stride == 1 ? take_rows<Op, kCount>(rows, 1, n, r)
                    : take_rows<Op, kCount>(rows, stride, n, r);
  }
  return r;
}

/// Outputs in blocks of kLanes: whole(x, y) makes one whose elements begin at x, finish(partial) an
/// output of a block that is none.
template <int64_t kLanes, typename Op, typename Out, typename Whole, typename Finish>
void reduce_blocks(const ReducePlan& plan,
                   const typename Op::In* x,
                   Out* y,
                   ParallelFor& parallel,
                   Whole whole,
                   Finish finish) {
  const int64_t line = plan.kept.sizes.back();
  const int64_t stride = plan.kept.strides.back();
  const int64_t blocks = (line + kLanes - 1) / kLanes;
  const int64_t lines = line == 0 ? 0 : count_of(plan.kept.sizes) / line;
  const auto members = static_cast<double>(count_of(plan.gone.sizes));
  const double ns = kReduceBlockNs + kReduceElementNs * kLanes * members;
  parallel.run(lines * blocks, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b % blocks * kLanes;
      const int64_t lanes = std::min(kLanes, line - first);
      const typename Op::In* from = x + offset_of(plan.kept, b / blocks) + first * stride;
      Out* to = y + b / blocks * line + first;
      if (lanes == kLanes) {
        whole(from, to);
        continue;
      }
      int64_t k = 0;
      for (; k + 4 <= lanes; k += 4) {
        for (const auto r : partials_of<Op, 4>(plan, from + k * stride)) {
          *to++ = finish(r);
        }
      }
      for (; k < lanes; ++k) {
        *to++ = finish(partials_of<Op, 1>(plan, from + k * stride)[0]);
      }
    }
  });
}

/// The same without a form of its own for whole blocks.
template <typename Op, typename Out, typename Finish>
void reduce_lanes(const ReducePlan& plan,
                  const typename Op::In* x,
                  Out* y,
                  ParallelFor& parallel,
                  Finish finish) {
  constexpr int64_t kLanes = 8;
  const auto whole = [&](const typename Op::In* from, Out* to) {
    for (const auto r : partials_of<Op, kLanes>(plan, from)) {
      *to++ = finish(r);
    }
  };
  reduce_blocks<kLanes, Op>(plan, x, y, parallel, whole, finish);
}

} // namespace octet::kernels
