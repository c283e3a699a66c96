// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <type_traits>

#include "runtime/kernels/reduce_lanes.h"

namespace octet::kernels {
namespace {

template <typename T, Reduce kOp>
struct Wrapped {
  using In = T;
  using Partial = std::make_unsigned_t<T>;
  static constexpr Partial kStart = kOp == Reduce::kProduct ? 1 : 0;
  static Partial next(Partial r, T v) {
    const auto n = static_cast<Partial>(v);
    if constexpr (kOp == Reduce::kProduct) return static_cast<Partial>(r * n);
    if constexpr (kOp == Reduce::kSumSquare) return static_cast<Partial>(r + n * n);
    if constexpr (kOp == Reduce::kL1)
      return static_cast<Partial>(r + (v < 0 ? static_cast<Partial>(Partial{0} - n) : n));
    return static_cast<Partial>(r + n);
  }
};

template <typename T, Reduce kOp>
struct Extreme {
  using In = T;
  using Partial = T;
  static constexpr T kStart =
      kOp == Reduce::kMax ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  static T next(T r, T v) { return (kOp == Reduce::kMax ? v > r : v < r) ? v : r; }
};

} // namespace

template <typename T>
void reduce_integers(Reduce op, const ReducePlan& plan, const T* x, T* y, ParallelFor& parallel) {
  const auto finish = [](auto r) { return static_cast<T>(r); };
  switch (op) {
  case Reduce::kMax:
    return reduce_lanes<Extreme<T, Reduce::kMax>>(plan, x, y, parallel, finish);
  case Reduce::kMin:
    return reduce_lanes<Extreme<T, Reduce::kMin>>(plan, x, y, parallel, finish);
  case Reduce::kProduct:
    return reduce_lanes<Wrapped<T, Reduce::kProduct>>(plan, x, y, parallel, finish);
  case Reduce::kSumSquare:
    return reduce_lanes<Wrapped<T, Reduce::kSumSquare>>(plan, x, y, parallel, finish);
  case Reduce::kL1:
    return reduce_lanes<Wrapped<T, Reduce::kL1>>(plan, x, y, parallel, finish);
  default:
    return reduce_lanes<Wrapped<T, Reduce::kSum>>(plan, x, y, parallel, finish);
  }
}

template void reduce_integers(Reduce, const ReducePlan&, const int32_t*, int32_t*, ParallelFor&);
template void reduce_integers(Reduce, const ReducePlan&, const int64_t*, int64_t*, ParallelFor&);

} // namespace octet::kernels
