// SPDX-License-Identifier: Apache-2.0
// Sixteen outputs at once where there is a vector form of their runs; a scalar form for the others.
#include "runtime/kernels/reduce.h"

#include <cmath>
#include <limits>

#include "core/for_isa.h"
#include "runtime/kernels/reduce_lanes.h"

namespace octet::kernels {
namespace {

template <Term kTerm>
struct Sum {
  using In = float;
  using Partial = double;
  static constexpr double kStart = 0.0;
  static double next(double r, float v) {
    const auto d = static_cast<double>(v);
    if constexpr (kTerm == Term::kSquare) return r + d * d;
    if constexpr (kTerm == Term::kMagnitude) return r + std::fabs(d);
    return r + d;
  }
};
struct Product {
  using In = float;
  using Partial = double;
  static constexpr double kStart = 1.0;
  static double next(double r, float v) { return r * static_cast<double>(v); }
};
struct Largest {
  using In = float;
  using Partial = float;
  static constexpr Best kBest = Best::kLargest;
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static float next(float r, float v) {
    const float larger = v > r ? v : r;
    return v != v ? v : larger; // NaN
  }
};
struct Smallest {
  using In = float;
  using Partial = float;
  static constexpr Best kBest = Best::kSmallest;
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  static float next(float r, float v) {
    const float smaller = v < r ? v : r;
    return v != v ? v : smaller; // NaN
  }
};

/// The scalar form is reduce_lanes.
constexpr SumRun* kNoSums = nullptr;
constexpr BestRun* kNoBests = nullptr;
constexpr BestRow* kNoBestRow = nullptr;
/// Shorter rows are turned, 16 at once.
constexpr int64_t kLongRow = 48;

/// Where the 16 outputs of a block lie: beside each other, or in rows.
bool in_lines(const ReducePlan& plan) {
  return plan.kept.strides.back() == 1;
}

template <Term kTerm, typename Finish>
void sums(const ReducePlan& plan,
          const float* x,
          float* y,
          Isa isa,
          ParallelFor& parallel,
          Finish finish) {
  using Op = Sum<kTerm>;
  const auto run =
      in_lines(plan)
          ? for_isa<kNoSums, Isa::kAvx2, sum_lines_avx2, Isa::kAvx512, sum_lines_avx512>(isa)
          : for_isa<kNoSums, Isa::kAvx2, sum_rows_avx2, Isa::kAvx512, sum_rows_avx512>(isa);
  if (run == nullptr) return reduce_lanes<Op>(plan, x, y, parallel, finish);
  const int64_t stride = in_lines(plan) ? plan.gone.strides.back() : plan.kept.strides.back();
  const auto whole = [&](const float* from, float* to) {
    double partials[kReduceLanes] = {};
    each_run_of(plan, from,
                [&](const float* first, int64_t n) { run(kTerm, first, stride, n, partials); });
    for (const double r : partials)
      *to++ = finish(r);
  };
  reduce_blocks<kReduceLanes, Op>(plan, x, y, parallel, whole, finish);
}

template <typename Op>
void best_of_rows(
    const ReducePlan& plan, const float* x, float* y, BestRow* row, ParallelFor& parallel) {
  constexpr double kElementNs = 0.1;
  const int64_t line = plan.kept.sizes.back(), stride = plan.kept.strides.back();
  const double ns = kReduceBlockNs + kElementNs * static_cast<double>(count_of(plan.gone.sizes));
  parallel.run(count_of(plan.kept.sizes), grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float best = Op::kStart;
      each_run_of(plan, x + offset_of(plan.kept, i / line) + i % line * stride,
                  [&](const float* first, int64_t n) { best = row(Op::kBest, first, n, best); });
      y[i] = best;
    }
  });
}

template <typename Op>
void bests(const ReducePlan& plan, const float* x, float* y, Isa isa, ParallelFor& parallel) {
  if (plan.gone.strides.back() == 1 && plan.gone.sizes.back() >= kLongRow) {
    const auto row =
        for_isa<kNoBestRow, Isa::kAvx2, best_row_avx2, Isa::kAvx512, best_row_avx512>(isa);
    if (row != nullptr) return best_of_rows<Op>(plan, x, y, row, parallel);
  }
  const auto finish = [](float r) { return r; };
  const auto run =
      in_lines(plan)
          ? for_isa<kNoBests, Isa::kAvx2, best_lines_avx2, Isa::kAvx512, best_lines_avx512>(isa)
          : for_isa<kNoBests, Isa::kAvx2, best_rows_avx2, Isa::kAvx512, best_rows_avx512>(isa);
  if (run == nullptr) return reduce_lanes<Op>(plan, x, y, parallel, finish);
  const int64_t stride = in_lines(plan) ? plan.gone.strides.back() : plan.kept.strides.back();
  const auto whole = [&](const float* from, float* to) {
    std::fill_n(to, kReduceLanes, Op::kStart);
    each_run_of(plan, from,
                [&](const float* first, int64_t n) { run(Op::kBest, first, stride, n, to); });
  };
  reduce_blocks<kReduceLanes, Op>(plan, x, y, parallel, whole, finish);
}

/// The logarithm of the sum of exponentials, the largest number taken out first.
double log_sum_exp(const ReducePlan& plan, const float* x) {
  const int64_t stride = plan.gone.strides.back();
  double largest = -std::numeric_limits<double>::infinity();
  each_run_of(plan, x, [&](const float* first, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      largest = std::fmax(largest, static_cast<double>(first[i * stride]));
  });
  const double shift = std::isfinite(largest) ? largest : 0;
  double r = 0;
  each_run_of(plan, x, [&](const float* first, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      r += std::exp(static_cast<double>(first[i * stride]) - shift);
  });
  return std::log(r) + shift;
}

void log_sums_exp(const ReducePlan& plan, const float* x, float* y, ParallelFor& parallel) {
  constexpr double kExponentialNs = 10.0;
  const int64_t line = plan.kept.sizes.back(), stride = plan.kept.strides.back();
  const double ns =
      kReduceBlockNs + kExponentialNs * static_cast<double>(count_of(plan.gone.sizes));
  parallel.run(count_of(plan.kept.sizes), grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* from = x + offset_of(plan.kept, i / line) + i % line * stride;
      y[i] = static_cast<float>(log_sum_exp(plan, from));
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

void reduce(
    Reduce op, const ReducePlan& plan, const float* x, float* y, Isa isa, ParallelFor& parallel) {
  const auto members = static_cast<double>(count_of(plan.gone.sizes));
  const auto rounded = [](double r) { return static_cast<float>(r); };
  switch (op) {
  case Reduce::kSum:
    return sums<Term::kItself>(plan, x, y, isa, parallel, rounded);
  case Reduce::kMean:
    return sums<Term::kItself>(plan, x, y, isa, parallel,
                               [members](double r) { return static_cast<float>(r / members); });
  case Reduce::kSumSquare:
    return sums<Term::kSquare>(plan, x, y, isa, parallel, rounded);
  case Reduce::kL1:
    return sums<Term::kMagnitude>(plan, x, y, isa, parallel, rounded);
  case Reduce::kL2:
    return sums<Term::kSquare>(plan, x, y, isa, parallel,
                               [](double r) { return static_cast<float>(std::sqrt(r)); });
  case Reduce::kLogSum:
    return sums<Term::kItself>(plan, x, y, isa, parallel,
                               [](double r) { return static_cast<float>(std::log(r)); });
  case Reduce::kLogSumExp:
    return log_sums_exp(plan, x, y, parallel);
  case Reduce::kProduct:
    return reduce_lanes<Product>(plan, x, y, parallel, rounded);
  case Reduce::kMax:
    return bests<Largest>(plan, x, y, isa, parallel);
  case Reduce::kMin:
    return bests<Smallest>(plan, x, y, isa, parallel);
  }
}

} // namespace octet::kernels
