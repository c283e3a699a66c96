// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/integers.h"

#include <limits>
#include <type_traits>

#include "core/threads.h"
#include "runtime/kernels/broadcast_runs.h"

namespace octet::kernels {
namespace {

constexpr double kUnaryNs = 0.3;

template <typename T>
using Natural = std::make_unsigned_t<T>;

template <typename T>
constexpr int kWidth = std::numeric_limits<Natural<T>>::digits;

template <typename T>
T negated(T v) {
  return static_cast<T>(Natural<T>{0} - static_cast<Natural<T>>(v));
}

template <typename T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return negated(a);
  return static_cast<T>(a / b);
}

template <typename T>
T remainder(T a, T b, bool sign_of_dividend) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  const T r = static_cast<T>(a % b);
  return !sign_of_dividend && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}

} // namespace

template <typename T>
void integers_broadcast(
    IntegerOp op, const BroadcastPlan& plan, const T* a, const T* b, T* y, ParallelFor& parallel) {
  const auto map = [&](auto f) { map_pairs(plan, a, b, y, parallel, f); };
  const auto wrapped = [&](auto f) {
    map([f](T p, T q) {
      return static_cast<T>(f(static_cast<Natural<T>>(p), static_cast<Natural<T>>(q)));
    });
  };
  switch (op) {
  case IntegerOp::kAdd:
    return wrapped([](auto p, auto q) { return p + q; });
  case IntegerOp::kSub:
    return wrapped([](auto p, auto q) { return p - q; });
  case IntegerOp::kMul:
    return wrapped([](auto p, auto q) { return p * q; });
  case IntegerOp::kDiv:
    return map([](T p, T q) { return quotient(p, q); });
  case IntegerOp::kMod:
    return map([](T p, T q) { return remainder(p, q, false); });
  case IntegerOp::kRemainder:
    return map([](T p, T q) { return remainder(p, q, true); });
  case IntegerOp::kMin:
    return map([](T p, T q) { return q < p ? q : p; });
  case IntegerOp::kMax:
    return map([](T p, T q) { return q > p ? q : p; });
  case IntegerOp::kAnd:
    return wrapped([](auto p, auto q) { return p & q; });
  case IntegerOp::kOr:
    return wrapped([](auto p, auto q) { return p | q; });
  case IntegerOp::kXor:
    return wrapped([](auto p, auto q) { return p ^ q; });
  case IntegerOp::kShiftLeft:
    return wrapped([](auto p, auto q) { return q < kWidth<T> ? uint64_t{p} << q : 0; });
  case IntegerOp::kShiftRight:
    return wrapped([](auto p, auto q) { return q < kWidth<T> ? uint64_t{p} >> q : 0; });
  }
}

template <typename T>
void integers(IntegerUnary op, const T* x, int64_t count, T* y, ParallelFor& parallel) {
  parallel.run(count, grain_for(kUnaryNs), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (op == IntegerUnary::kNot)
        y[i] = static_cast<T>(~x[i]);
      else
        y[i] = op == IntegerUnary::kNeg || x[i] < 0 ? negated(x[i]) : x[i];
    }
  });
}

template void integers_broadcast(
    IntegerOp, const BroadcastPlan&, const int32_t*, const int32_t*, int32_t*, ParallelFor&);
template void integers_broadcast(
    IntegerOp, const BroadcastPlan&, const int64_t*, const int64_t*, int64_t*, ParallelFor&);
template void integers_broadcast(
    IntegerOp, const BroadcastPlan&, const int8_t*, const int8_t*, int8_t*, ParallelFor&);
template void integers_broadcast(
    IntegerOp, const BroadcastPlan&, const uint8_t*, const uint8_t*, uint8_t*, ParallelFor&);
template void integers(IntegerUnary, const int32_t*, int64_t, int32_t*, ParallelFor&);
template void integers(IntegerUnary, const int64_t*, int64_t, int64_t*, ParallelFor&);
template void integers(IntegerUnary, const int8_t*, int64_t, int8_t*, ParallelFor&);

} // namespace octet::kernels
