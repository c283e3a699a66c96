// SPDX-License-Identifier: Apache-2.0
// Outputs beside each other are made side by side, so that their chains of additions overlap.
#include "runtime/kernels/reduce.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kReduceElementNs = 0.4;
constexpr double kReduceBlockNs = 20.0;
constexpr int64_t kLanes = 8; // outputs side by side

struct Sum {
  using Partial = double;
  static constexpr double kStart = 0.0;
  static double next(double r, float v) { return r + static_cast<double>(v); }
};
struct Largest {
  using Partial = float;
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static float next(float r, float v) {
    const float larger = v > r ? v : r;
    return v != v ? v : larger; // NaN
  }
};
struct Smallest {
  using Partial = float;
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  static float next(float r, float v) {
    const float smaller = v < r ? v : r;
    return v != v ? v : smaller; // NaN
  }
};

template <typename Op, size_t kCount>
using Partials = std::array<typename Op::Partial, kCount>;
template <size_t kCount>
using Rows = std::array<const float*, kCount>;

int64_t count_of(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) {
    n *= size;
  }
  return n;
}

// Offset of place `i` along all axes but the last.
int64_t offset_of(const AxisList& axes, int64_t i) {
  int64_t offset = 0;
  for (size_t axis = axes.sizes.size() - 1; axis-- > 0;) {
    offset += i % axes.sizes[axis] * axes.strides[axis];
    i /= axes.sizes[axis];
  }
  return offset;
}

// Of lanes that lie beside each other. Partial results go by value, so that x cannot point at them.
template <typename Op, size_t kCount>
Partials<Op, kCount> take_lines(const float* x, int64_t stride, int64_t n, Partials<Op, kCount> r) {
  for (int64_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < kCount; ++k) {
      r[k] = Op::next(r[k], x[k]);
    }
    x += stride;
  }
  return r;
}

// Of lanes anywhere.
template <typename Op, size_t kCount>
Partials<Op, kCount>
take_rows(const Rows<kCount>& x, int64_t stride, int64_t n, Partials<Op, kCount> r) {
  for (int64_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < kCount; ++k) {
      r[k] = Op::next(r[k], x[k][i * stride]);
    }
  }
  return r;
}

// The partial results of kCount outputs, the first of which starts at x.
template <typename Op, size_t kCount>
Partials<Op, kCount> partials_of(const ReducePlan& plan, const float* x) {
  const int64_t lane_stride = plan.kept.strides.back();
  const int64_t stride = plan.gone.strides.back();
  const int64_t n = plan.gone.sizes.back();
  const int64_t runs = n == 0 ? 0 : count_of(plan.gone.sizes) / n;
  Partials<Op, kCount> r;
  r.fill(Op::kStart);
  for (int64_t run = 0; run < runs; ++run) {
    const float* first = x + offset_of(plan.gone, run);
    if (lane_stride == 1) {
      r = take_lines<Op, kCount>(first, stride, n, r);
      continue;
    }
    Rows<kCount> rows{};
    for (size_t k = 0; k < kCount; ++k) {
      rows[k] = first + static_cast<int64_t>(k) * lane_stride;
    }
    r = stride == 1 ? take_rows<Op, kCount>(rows, 1, n, r)
                    : take_rows<Op, kCount>(rows, stride, n, r);
  }
  return r;
}

template <typename Op, typename Finish>
void reduce_blocks(
    const ReducePlan& plan, const float* x, float* y, ParallelFor& parallel, Finish finish) {
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
      const float* from = x + offset_of(plan.kept, b / blocks) + first * stride;
      float* to = y + b / blocks * line + first;
      if (lanes == kLanes) {
        for (const auto r : partials_of<Op, kLanes>(plan, from)) {
          *to++ = finish(r);
        }
        continue;
      }
      for (int64_t k = 0; k < lanes; ++k) {
        to[k] = finish(partials_of<Op, 1>(plan, from + k * stride)[0]);
      }
    }
  });
}

} // namespace

ReducePlan plan_reduce(std::span<const int64_t> shape, const std::vector<bool>& reduced) {
  ReducePlan plan;
  AxisList* last = nullptr;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    AxisList* list = reduced[i] ? &plan.gone : &plan.kept;
    if (list == last) {
      list->sizes.back() *= shape[i];
    } else {
      list->sizes.push_back(shape[i]);
      list->strides.push_back(stride);
    }
    last = list;
    stride *= shape[i];
  }
  for (AxisList* list : {&plan.kept, &plan.gone}) {
    if (list->sizes.empty()) *list = {{1}, {1}};
    std::reverse(list->sizes.begin(), list->sizes.end());
    std::reverse(list->strides.begin(), list->strides.end());
  }
  return plan;
}

void reduce(Reduce op, const ReducePlan& plan, const float* x, float* y, ParallelFor& parallel) {
  const auto members = static_cast<double>(count_of(plan.gone.sizes));
  switch (op) {
  case Reduce::kSum:
    return reduce_blocks<Sum>(plan, x, y, parallel, [](double r) { return static_cast<float>(r); });
  case Reduce::kMean:
    return reduce_blocks<Sum>(plan, x, y, parallel,
                              [members](double r) { return static_cast<float>(r / members); });
  case Reduce::kMax:
    return reduce_blocks<Largest>(plan, x, y, parallel, [](float r) { return r; });
  case Reduce::kMin:
    return reduce_blocks<Smallest>(plan, x, y, parallel, [](float r) { return r; });
  }
}

} // namespace octet::kernels
