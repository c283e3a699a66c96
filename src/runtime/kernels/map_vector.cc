// SPDX-License-Identifier: Apache-2.0
// Vector form of the instructions of programs.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/map_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/map.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kStepF = static_cast<int64_t>(kLanesF);

/// An operand: one number, or as many as the tile has.
template <bool kRepeats>
struct Operand {
  HWY_INLINE explicit Operand(const MapCall::From& from)
      : p(from.p), one(kRepeats ? splat(*from.p) : hn::Zero(F32())) {}
  HWY_INLINE VecF at(int64_t i) const { return kRepeats ? one : hn::LoadU(F32(), p + i); }
  HWY_INLINE VecF some(int64_t i, int64_t count) const {
    return kRepeats ? one : load_some(p + i, count);
  }
  const float* p;
  VecF one;
};

template <typename Function, typename... Operands>
HWY_INLINE void each(const MapCall& call, Function&& function, const Operands&... operands) {
  // Stores of vectors may alias the call.
  const int64_t count = call.count;
  float* const y = call.y;
  int64_t i = 0;
  for (; i + kStepF <= count; i += kStepF)
    hn::StoreU(function(operands.at(i)...), F32(), y + i);
  if (i < count) store_some(function(operands.some(i, count - i)...), y + i, count - i);
}

// NOINLINE keeps the loops of the instructions apart: registers are those of one loop.
template <typename Function>
HWY_NOINLINE void unary(const MapCall& call, Function function) {
  if (call.a.repeats) return each(call, function, Operand<true>(call.a));
  each(call, function, Operand<false>(call.a));
}

template <typename Function>
HWY_NOINLINE void binary(const MapCall& call, Function function) {
  const Operand<false> a(call.a);
  const Operand<false> b(call.b);
  if (!call.a.repeats && !call.b.repeats) return each(call, function, a, b);
  if (!call.a.repeats) return each(call, function, a, Operand<true>(call.b));
  if (!call.b.repeats) return each(call, function, Operand<true>(call.a), b);
  each(call, function, Operand<true>(call.a), Operand<true>(call.b));
}

template <typename Function, typename A>
HWY_INLINE void ternary_of(const MapCall& call, Function function, const A& a) {
  const Operand<false> b(call.b);
  const Operand<false> c(call.c);
  if (!call.b.repeats && !call.c.repeats) return each(call, function, a, b, c);
  if (!call.b.repeats) return each(call, function, a, b, Operand<true>(call.c));
  if (!call.c.repeats) return each(call, function, a, Operand<true>(call.b), c);
  each(call, function, a, Operand<true>(call.b), Operand<true>(call.c));
}

template <typename Function>
HWY_NOINLINE void ternary(const MapCall& call, Function function) {
  if (call.a.repeats) return ternary_of(call, function, Operand<true>(call.a));
  ternary_of(call, function, Operand<false>(call.a));
}

HWY_INLINE VecF sign(VecF x) {
  const auto itself = hn::Or(hn::IsNaN(x), hn::Eq(x, hn::Zero(F32())));
  return hn::IfThenElse(itself, x, hn::CopySign(splat(1.0F), x));
}

template <typename Mask>
HWY_INLINE VecF one_where(Mask mask) {
  return hn::IfThenElseZero(mask, splat(1.0F));
}

} // namespace

void run_map(const MapCall& call) {
  using numerics::MapOp;
  switch (call.op) {
  case MapOp::kNeg:
    return unary(call, [](VecF a) HWY_ATTR { return hn::Neg(a); });
  case MapOp::kAbs:
    return unary(call, [](VecF a) HWY_ATTR { return hn::Abs(a); });
  case MapOp::kSign:
    return unary(call, [](VecF a) HWY_ATTR { return sign(a); });
  case MapOp::kSqrt:
    return unary(call, [](VecF a) HWY_ATTR { return hn::Sqrt(a); });
  case MapOp::kReciprocal:
    return unary(call, [](VecF a) HWY_ATTR { return hn::Div(splat(1.0F), a); });
  case MapOp::kFloor:
    return unary(call, [](VecF a) HWY_ATTR { return hn::Floor(a); });
  case MapOp::kCeil:
    return unary(call, [](VecF a) HWY_ATTR { return hn::Ceil(a); });
  case MapOp::kRound:
    return unary(call, [](VecF a) HWY_ATTR { return hn::Round(a); });
  case MapOp::kRelu:
    return unary(call, [](VecF a) HWY_ATTR { return relu(a); });
  case MapOp::kExp:
    return unary(call, [](VecF a) HWY_ATTR { return exp(a); });
  case MapOp::kExpm1:
    return unary(call, [](VecF a) HWY_ATTR { return expm1(a); });
  case MapOp::kLog:
    return unary(call, [](VecF a) HWY_ATTR { return log(a); });
  case MapOp::kSin:
    return unary(call, [](VecF a) HWY_ATTR { return sine_turned<0>(a); });
  case MapOp::kCos:
    return unary(call, [](VecF a) HWY_ATTR { return sine_turned<1>(a); });
  case MapOp::kErf:
    return unary(call, [](VecF a) HWY_ATTR { return erf(a); });
  case MapOp::kTanh:
    return unary(call, [](VecF a) HWY_ATTR { return tanh(a); });
  case MapOp::kSigmoid:
    return unary(call, [](VecF a) HWY_ATTR { return sigmoid(a); });
  case MapOp::kSilu:
    return unary(call, [](VecF a) HWY_ATTR { return silu(a); });
  case MapOp::kSoftplus:
    return unary(call, [](VecF a) HWY_ATTR { return softplus(a); });
  case MapOp::kMish:
    return unary(call, [](VecF a) HWY_ATTR { return mish(a); });
  case MapOp::kGelu:
    return unary(call, [](VecF a) HWY_ATTR { return gelu(a); });
  case MapOp::kGeluTanh:
    return unary(call, [](VecF a) HWY_ATTR { return gelu_tanh(a); });
  case MapOp::kHardSwish:
    return unary(call, [](VecF a) HWY_ATTR { return hard_swish(a); });
  case MapOp::kCube:
    return unary(call, [](VecF a) HWY_ATTR { return cube(a); });
  case MapOp::kHalfPower:
    return unary(call, [](VecF a) HWY_ATTR { return half_power(a); });
  case MapOp::kRoundF16:
    return unary(call, [](VecF a) HWY_ATTR { return round_f16(a); });
  case MapOp::kRoundBf16:
    return unary(call, [](VecF a) HWY_ATTR { return round_bf16(a); });
  case MapOp::kAdd:
    return binary(call, [](VecF a, VecF b) HWY_ATTR { return hn::Add(a, b); });
  case MapOp::kSub:
    return binary(call, [](VecF a, VecF b) HWY_ATTR { return hn::Sub(a, b); });
  case MapOp::kMul:
    return binary(call, [](VecF a, VecF b) HWY_ATTR { return hn::Mul(a, b); });
  case MapOp::kDiv:
    return binary(call, [](VecF a, VecF b) HWY_ATTR { return hn::Div(a, b); });
  case MapOp::kMin:
    return binary(call, [](VecF a, VecF b) HWY_ATTR {
      return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b);
    });
  case MapOp::kMax:
    return binary(call, [](VecF a, VecF b) HWY_ATTR {
      return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b);
    });
  case MapOp::kLess:
    return binary(call, [](VecF a, VecF b) HWY_ATTR { return one_where(hn::Lt(a, b)); });
  case MapOp::kLessEqual:
    return binary(call, [](VecF a, VecF b) HWY_ATTR { return one_where(hn::Le(a, b)); });
  case MapOp::kEqual:
    return binary(call, [](VecF a, VecF b) HWY_ATTR { return one_where(hn::Eq(a, b)); });
  case MapOp::kLeakyRelu:
    return binary(call, [](VecF a, VecF b) HWY_ATTR {
      return hn::IfThenElse(hn::Lt(a, hn::Zero(F32())), hn::Mul(a, b), a);
    });
  case MapOp::kElu:
    return binary(call, [](VecF a, VecF b) HWY_ATTR {
      return hn::IfThenElse(hn::Lt(a, hn::Zero(F32())), hn::Mul(b, expm1(a)), a);
    });
  case MapOp::kFma:
    return ternary(call, [](VecF a, VecF b, VecF c) HWY_ATTR { return hn::MulAdd(a, b, c); });
  case MapOp::kClamp:
    return ternary(call,
                   [](VecF a, VecF b, VecF c) HWY_ATTR { return at_most(at_least(a, b), c); });
  case MapOp::kSelect:
    return ternary(call, [](VecF a, VecF b, VecF c)
                             HWY_ATTR { return hn::IfThenElse(hn::Eq(a, hn::Zero(F32())), c, b); });
  case MapOp::kCount:
    return;
  }
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void map_avx2(const MapCall& call) {
  N_AVX2::run_map(call);
}
void map_avx512(const MapCall& call) {
  N_AVX3::run_map(call);
}
} // namespace octet::kernels
#endif
