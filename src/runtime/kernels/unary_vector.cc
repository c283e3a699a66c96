// SPDX-License-Identifier: Apache-2.0
// Vector form of the elementwise functions.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/unary_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/unary.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

template <typename Function>
HWY_INLINE void each_vector(const float* x, int64_t count, float* y, Function&& function) {
  const F32 d;
  constexpr auto kStep = static_cast<int64_t>(kLanesF);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    hn::StoreU(function(hn::LoadU(d, x + i)), d, y + i);
  }
  if (i < count) store_some(function(load_some(x + i, count - i)), y + i, count - i);
}

template <VecF (*kFunction)(VecF)>
void map(const float* x, int64_t count, float* y) {
  each_vector(x, count, y, [](VecF v) HWY_ATTR { return kFunction(v); });
}

VecF square_root(VecF x) {
  return hn::Sqrt(x);
}
VecF reciprocal(VecF x) {
  return hn::Div(splat(1.0F), x);
}
VecF negated(VecF x) {
  return hn::Neg(x);
}
VecF absolute(VecF x) {
  return hn::Abs(x);
}
VecF square(VecF x) {
  return hn::Mul(x, x);
}
VecF cube(VecF x) {
  using F64 = hn::Repartition<double, F32>;
  using Half = hn::Half<F32>;
  const auto cubed = [](hn::Vec<Half> half) HWY_ATTR {
    const auto v = hn::PromoteTo(F64(), half);
    return hn::DemoteTo(Half(), hn::Mul(hn::Mul(v, v), v));
  };
  return hn::Combine(F32(), cubed(hn::UpperHalf(Half(), x)), cubed(hn::LowerHalf(Half(), x)));
}
VecF half_power(VecF x) {
  const VecF size = hn::Abs(x);
  const auto infinite = hn::Eq(size, hn::Inf(F32()));
  return hn::IfThenElse(infinite, size, hn::Sqrt(hn::Add(x, splat(0.0F))));
}

// As numerics::round_to_f16.
VecF round_f16(VecF x) {
  using U32 = hn::RebindToUnsigned<F32>;
  const U32 u;
  const F32 d;
  const VecF size = hn::Abs(x);
  const auto bits = hn::BitCast(u, size);
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(u, 1U));
  const auto kept = hn::And(hn::Add(bits, hn::Add(odd, hn::Set(u, 0xfffU))), hn::Set(u, ~0x1fffU));
  VecF r = hn::BitCast(d, kept);
  r = hn::IfThenElse(hn::Ge(r, splat(65536.0F)), hn::Inf(d), r);
  const VecF half = splat(0.5F);
  r = hn::IfThenElse(hn::Lt(size, splat(0x1p-14F)), hn::Sub(hn::Add(size, half), half), r);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(r, x));
}
// As numerics::round_to_bf16.
VecF round_bf16(VecF x) {
  using U32 = hn::RebindToUnsigned<F32>;
  const U32 u;
  const auto bits = hn::BitCast(u, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1U));
  const auto kept =
      hn::And(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fffU))), hn::Set(u, 0xffff0000U));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::BitCast(F32(), kept));
}

HWY_INLINE VecF operand(const float* p, int64_t step, int64_t i, int64_t count) {
  if (step == 0) return splat(*p);
  constexpr auto kStep = static_cast<int64_t>(kLanesF);
  return count == kStep ? hn::LoadU(F32(), p + i) : load_some(p + i, count);
}

template <typename Op>
HWY_INLINE void combine(const BinaryRun& r, Op&& op) {
  constexpr auto kStep = static_cast<int64_t>(kLanesF);
  int64_t i = 0;
  for (; i + kStep <= r.count; i += kStep) {
    hn::StoreU(op(operand(r.a, r.a_step, i, kStep), operand(r.b, r.b_step, i, kStep)), F32(),
               r.y + i);
  }
  const int64_t rest = r.count - i;
  if (rest > 0)
    store_some(op(operand(r.a, r.a_step, i, rest), operand(r.b, r.b_step, i, rest)), r.y + i, rest);
}

} // namespace

void run_binary(Binary op, const BinaryRun& run) {
  switch (op) {
  case Binary::kAdd:
    return combine(run, [](VecF p, VecF q) HWY_ATTR { return hn::Add(p, q); });
  case Binary::kSub:
    return combine(run, [](VecF p, VecF q) HWY_ATTR { return hn::Sub(p, q); });
  case Binary::kMul:
    return combine(run, [](VecF p, VecF q) HWY_ATTR { return hn::Mul(p, q); });
  case Binary::kDiv:
    return combine(run, [](VecF p, VecF q) HWY_ATTR { return hn::Div(p, q); });
  case Binary::kMin:
    return combine(run, [](VecF p, VecF q) HWY_ATTR {
      return hn::IfThenElse(hn::Or(hn::IsNaN(p), hn::Lt(p, q)), p, q);
    });
  case Binary::kMax:
    return combine(run, [](VecF p, VecF q) HWY_ATTR {
      return hn::IfThenElse(hn::Or(hn::IsNaN(p), hn::Gt(p, q)), p, q);
    });
  }
}

void run_clip(const float* x, int64_t count, float lo, float hi, float* y) {
  const VecF low = splat(lo);
  const VecF high = splat(hi);
  each_vector(x, count, y, [&](VecF v) HWY_ATTR { return at_most(at_least(v, low), high); });
}

void run_unary(Unary f, const float* x, int64_t count, float* y) {
  switch (f) {
  case Unary::kExp:
    return map<exp>(x, count, y);
  case Unary::kErf:
    return map<erf>(x, count, y);
  case Unary::kTanh:
    return map<tanh>(x, count, y);
  case Unary::kSigmoid:
    return map<sigmoid>(x, count, y);
  case Unary::kGelu:
    return map<gelu>(x, count, y);
  case Unary::kGeluTanh:
    return map<gelu_tanh>(x, count, y);
  case Unary::kRelu:
    return map<relu>(x, count, y);
  case Unary::kSqrt:
    return map<square_root>(x, count, y);
  case Unary::kReciprocal:
    return map<reciprocal>(x, count, y);
  case Unary::kNeg:
    return map<negated>(x, count, y);
  case Unary::kAbs:
    return map<absolute>(x, count, y);
  case Unary::kSquare:
    return map<square>(x, count, y);
  case Unary::kCube:
    return map<cube>(x, count, y);
  case Unary::kHalfPower:
    return map<half_power>(x, count, y);
  case Unary::kRoundF16:
    return map<round_f16>(x, count, y);
  case Unary::kRoundBf16:
    return map<round_bf16>(x, count, y);
  }
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void unary_avx2(Unary f, const float* x, int64_t count, float* y) {
  N_AVX2::run_unary(f, x, count, y);
}
void clip_avx2(const float* x, int64_t count, float lo, float hi, float* y) {
  N_AVX2::run_clip(x, count, lo, hi, y);
}
void clip_avx512(const float* x, int64_t count, float lo, float hi, float* y) {
  N_AVX3::run_clip(x, count, lo, hi, y);
}
void binary_avx2(Binary op, const BinaryRun& run) {
  N_AVX2::run_binary(op, run);
}
void binary_avx512(Binary op, const BinaryRun& run) {
  N_AVX3::run_binary(op, run);
}
void unary_avx512(Unary f, const float* x, int64_t count, float* y) {
  N_AVX3::run_unary(f, x, count, y);
}
} // namespace octet::kernels
#endif
