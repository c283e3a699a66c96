// SPDX-License-Identifier: Apache-2.0
// core/numerics/math.h and round.h on vectors, the same steps lane by lane. Included once per
// Highway target, inside files that use foreach_target.h.
#if defined(OCTET_RUNTIME_KERNELS_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTET_RUNTIME_KERNELS_VECTOR_MATH_INL_H
#undef OCTET_RUNTIME_KERNELS_VECTOR_MATH_INL_H
#else
#define OCTET_RUNTIME_KERNELS_VECTOR_MATH_INL_H
#endif

#include "core/numerics/math.h"
#include "core/numerics/trig.h"
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace hn = hwy::HWY_NAMESPACE;
namespace nc = numerics::coefficients;

using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using VecF = hn::Vec<F32>;
using VecI = hn::Vec<I32>;
constexpr size_t kLanesF = hn::MaxLanes(F32());

HWY_INLINE VecF splat(float x) {
  return hn::Set(F32(), x);
}

// x < lo ? lo : x and x > hi ? hi : x. The instruction is defined as lo > x ? lo : x, with NaN and
// zeros as there; Highway's functions leave them open.
HWY_INLINE VecF at_least(VecF x, VecF lo) {
#if defined(__x86_64__) && HWY_TARGET == HWY_AVX3
  return VecF{_mm512_max_ps(lo.raw, x.raw)};
#elif defined(__x86_64__)
  return VecF{_mm256_max_ps(lo.raw, x.raw)};
#else
  return hn::IfThenElse(hn::Lt(x, lo), lo, x);
#endif
}
HWY_INLINE VecF at_most(VecF x, VecF hi) {
#if defined(__x86_64__) && HWY_TARGET == HWY_AVX3
  return VecF{_mm512_min_ps(hi.raw, x.raw)};
#elif defined(__x86_64__)
  return VecF{_mm256_min_ps(hi.raw, x.raw)};
#else
  return hn::IfThenElse(hn::Gt(x, hi), hi, x);
#endif
}

template <int kCount>
HWY_INLINE VecF polynomial(const float (&c)[kCount], VecF x) {
  VecF y = splat(c[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) {
    y = hn::MulAdd(y, x, splat(c[i]));
  }
  return y;
}

// x = n * ln 2 + r; t holds n in its low bits. All are NaN where x is.
struct Reduced {
  VecF t, n, r;
};

HWY_INLINE Reduced reduced(VecF x) {
  const VecF magic = splat(nc::kMagic);
  const VecF t = hn::MulAdd(x, splat(nc::kLog2E), magic);
  const VecF n = hn::Sub(t, magic);
  VecF r = hn::MulAdd(n, splat(-nc::kLn2High), x);
  r = hn::MulAdd(n, splat(-nc::kLn2Low), r);
  return {t, n, r};
}

// e^r for a reduced r.
HWY_INLINE VecF exp_of_rest(VecF r) {
  return hn::Add(hn::MulAdd(polynomial(nc::kExp, r), hn::Mul(r, r), r), splat(1.0F));
}

// e^x for x up to 0, or kExpHigh. y * 2^n is rounded where it is subnormal, in both forms once. Below
// kExpLow, as masked scores are, 0 comes without a product: one that is too small costs some 150
// cycles on Intel's processors.
HWY_INLINE VecF exp_of_negative(VecF x) {
  const auto is_zero = hn::Lt(x, splat(nc::kExpLow));
#if defined(__x86_64__) && HWY_TARGET == HWY_AVX3
  const Reduced v = reduced(x);
  const auto computed = static_cast<__mmask16>(hn::Not(is_zero).raw);
  return VecF{_mm512_maskz_scalef_ps(computed, exp_of_rest(v.r).raw, v.n.raw)};
#else
  const I32 di;
  const F32 df;
  const Reduced v = reduced(at_least(x, splat(nc::kExpLow)));
  const VecF y = hn::IfThenZeroElse(is_zero, exp_of_rest(v.r));
  const VecI power = hn::Sub(hn::BitCast(di, v.t), hn::Set(di, nc::kMagicBits));
  const VecI half = hn::ShiftRight<1>(power);
  const VecI bias = hn::Set(di, 127);
  const VecF first = hn::BitCast(df, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VecF second = hn::BitCast(df, hn::ShiftLeft<23>(hn::Add(hn::Sub(power, half), bias)));
  return hn::Mul(hn::Mul(y, first), second);
#endif
}

// e^x for x from -80 to 80, where y * 2^n is exact.
HWY_INLINE VecF exp_small(VecF x) {
  const I32 di;
  const Reduced v = reduced(x);
  const VecI power = hn::Sub(hn::BitCast(di, v.t), hn::Set(di, nc::kMagicBits - 127));
  return hn::Mul(exp_of_rest(v.r), hn::BitCast(F32(), hn::ShiftLeft<23>(power)));
}

HWY_INLINE VecF exp(VecF x) {
  return exp_of_negative(at_most(x, splat(nc::kExpHigh)));
}

HWY_INLINE VecF expm1(VecF x) {
  const I32 di;
  const Reduced v = reduced(at_most(at_least(x, splat(nc::kExpm1Low)), splat(nc::kExpHigh)));
  const VecF p = hn::MulAdd(polynomial(nc::kExp, v.r), hn::Mul(v.r, v.r), v.r);
  const VecI power = hn::Sub(hn::BitCast(di, v.t), hn::Set(di, nc::kMagicBits - 126));
  const VecF half = hn::BitCast(F32(), hn::ShiftLeft<23>(power));
  const VecF y = hn::MulAdd(p, half, hn::Sub(half, splat(0.5F)));
  return hn::CopySign(hn::Add(y, y), x);
}

HWY_INLINE VecF log_sum(VecF n, VecF f) {
  VecF y = hn::MulAdd(hn::Mul(f, f), hn::MulAdd(f, polynomial(nc::kLog, f), splat(-0.5F)), f);
  y = hn::MulAdd(n, splat(nc::kLn2Low), y);
  return hn::MulAdd(n, splat(nc::kLn2High), y);
}

HWY_INLINE VecF log(VecF x) {
  const I32 di;
  const F32 df;
  const auto subnormal = hn::Lt(x, splat(0x1p-126F));
  const VecI bits = hn::BitCast(di, hn::IfThenElse(subnormal, hn::Mul(x, splat(0x1p23F)), x));
  const VecI power = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, nc::kSqrtHalfBits)));
  const VecF m = hn::BitCast(df, hn::Sub(bits, hn::ShiftLeft<23>(power)));
  const VecF n = hn::Sub(hn::ConvertTo(df, power), hn::IfThenElseZero(subnormal, splat(23.0F)));
  VecF y = log_sum(n, hn::Sub(m, splat(1.0F)));
  y = hn::IfThenElse(hn::Eq(x, hn::Inf(df)), x, y);
  const VecF zero = hn::Zero(df);
  const VecF none = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(df)), hn::NaN(df));
  return hn::IfThenElse(hn::Gt(x, zero), y, none);
}

HWY_INLINE VecF erf(VecF x) {
  const VecF small = hn::MulAdd(x, polynomial(nc::kErfSmall, hn::Mul(x, x)), x);
  const VecF a = at_most(hn::Abs(x), splat(nc::kErfEnd));
  const VecF e = exp_small(hn::Neg(hn::Mul(polynomial(nc::kErfLarge, a), a)));
  const VecF large = hn::CopySign(hn::Sub(splat(1.0F), e), x);
  return hn::IfThenElse(hn::Lt(a, splat(nc::kErfSplit)), small, large);
}

HWY_INLINE VecF tanh(VecF x) {
  const VecF s = hn::Mul(x, x);
  const VecF small = hn::MulAdd(hn::Mul(x, s), polynomial(nc::kTanh, s), x);
  const VecF a = at_most(hn::Abs(x), splat(nc::kTanhEnd));
  const VecF one = splat(1.0F);
  const VecF q = hn::Div(splat(2.0F), hn::Add(exp_small(hn::Add(a, a)), one));
  const VecF large = hn::CopySign(hn::Sub(one, q), x);
  return hn::IfThenElse(hn::Lt(a, splat(nc::kTanhSplit)), small, large);
}

HWY_INLINE VecF sigmoid(VecF x) {
  const VecF one = splat(1.0F);
  const VecF e = exp_of_negative(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), e, one), hn::Add(one, e));
}

HWY_INLINE VecF silu(VecF x) {
  return hn::Mul(x, sigmoid(x));
}

HWY_INLINE VecF softplus(VecF x) {
  const VecF one = splat(1.0F);
  const VecF e = exp_of_negative(hn::Neg(hn::Abs(x)));
  const auto above = hn::Gt(e, splat(nc::kSqrt2Less1));
  const VecF f = hn::IfThenElse(above, hn::Mul(splat(0.5F), hn::Sub(e, one)), e);
  const VecF tail = log_sum(hn::IfThenElseZero(above, one), f);
  return hn::Add(at_least(x, hn::Zero(F32())), tail);
}

HWY_INLINE VecF mish(VecF x) {
  const VecF two = splat(2.0F);
  const VecF e = exp(at_most(x, splat(nc::kMishEnd)));
  const VecF w = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(w, hn::Add(w, two)));
}

HWY_INLINE VecF hard_swish(VecF x) {
  const VecF gate = hn::MulAdd(x, splat(nc::kSixth), splat(0.5F));
  return hn::Mul(x, at_most(at_least(gate, hn::Zero(F32())), splat(1.0F)));
}

HWY_INLINE VecF gelu(VecF x) {
  const VecF h = hn::Mul(splat(0.5F), x);
  return hn::MulAdd(h, erf(hn::Mul(x, splat(nc::kInvSqrt2))), h);
}

HWY_INLINE VecF gelu_tanh(VecF x) {
  const VecF h = hn::Mul(splat(0.5F), x);
  const VecF cubic = hn::MulAdd(hn::Mul(splat(nc::kGeluCubic), x), hn::Mul(x, x), x);
  return hn::MulAdd(h, tanh(hn::Mul(splat(nc::kSqrt2OverPi), cubic)), h);
}

HWY_INLINE VecF relu(VecF x) {
  return at_least(x, hn::Zero(F32()));
}

HWY_INLINE VecF cube(VecF x) {
  using F64 = hn::Repartition<double, F32>;
  using Half = hn::Half<F32>;
  const auto cubed = [](hn::Vec<Half> half) HWY_ATTR {
    const auto v = hn::PromoteTo(F64(), half);
    return hn::DemoteTo(Half(), hn::Mul(hn::Mul(v, v), v));
  };
  return hn::Combine(F32(), cubed(hn::UpperHalf(Half(), x)), cubed(hn::LowerHalf(Half(), x)));
}

// numerics::sine_turned of lanes below kTurnEnd.
template <int kQuarters>
HWY_INLINE hn::Vec<hn::Half<F32>> sine_of_half(hn::Vec<hn::Half<F32>> half) {
  using F64 = hn::Repartition<double, F32>;
  using I64 = hn::RebindToSigned<F64>;
  const F64 d;
  const I64 i;
  const auto term = [&](auto s, auto y, double c)
                        HWY_ATTR { return hn::MulAdd(s, y, hn::Set(d, c)); };
  const auto wide = hn::PromoteTo(d, half);
  const auto magic = hn::Set(d, nc::kMagicDouble);
  const auto t = hn::MulAdd(wide, hn::Set(d, nc::kTwoOverPi), magic);
  const auto n = hn::Sub(t, magic);
  auto r = hn::MulAdd(n, hn::Set(d, -nc::kHalfPiHigh), wide);
  r = hn::MulAdd(n, hn::Set(d, -nc::kHalfPiLow), r);
  const auto s = hn::Mul(r, r);
  auto odd = term(s, hn::Set(d, nc::kSin[3]), nc::kSin[2]);
  odd = term(s, term(s, odd, nc::kSin[1]), nc::kSin[0]);
  odd = hn::Mul(r, term(s, odd, 1.0));
  auto even = term(s, hn::Set(d, nc::kCos[3]), nc::kCos[2]);
  even = term(s, term(s, even, nc::kCos[1]), nc::kCos[0]);
  even = term(s, even, 1.0);
  const auto quadrant = hn::Add(hn::BitCast(i, t), hn::Set(i, kQuarters));
  const auto one = hn::Set(i, 1);
  const auto is_even = hn::Eq(hn::And(quadrant, one), one);
  const auto y = hn::IfThenElse(hn::RebindMask(d, is_even), even, odd);
  const auto sign = hn::ShiftLeft<62>(hn::And(quadrant, hn::Set(i, 2)));
  return hn::DemoteTo(hn::Half<F32>(), hn::Xor(y, hn::BitCast(d, sign)));
}

// numerics::sin and, a quarter turn on, numerics::cos.
template <int kQuarters>
HWY_INLINE VecF sine_turned(VecF x) {
  using Half = hn::Half<F32>;
  const F32 d;
  const auto low = sine_of_half<kQuarters>(hn::LowerHalf(Half(), x));
  const auto high = sine_of_half<kQuarters>(hn::UpperHalf(Half(), x));
  const VecF y = hn::Combine(d, high, low);
  if (HWY_LIKELY(hn::AllFalse(d, hn::Ge(hn::Abs(x), splat(nc::kTurnEnd))))) return y;
  HWY_ALIGN float lanes[kLanesF];
  hn::Store(x, d, lanes);
  for (float& lane : lanes)
    lane = numerics::sine_turned(lane, kQuarters);
  return hn::Load(d, lanes);
}

HWY_INLINE VecF half_power(VecF x) {
  const VecF size = hn::Abs(x);
  const auto infinite = hn::Eq(size, hn::Inf(F32()));
  return hn::IfThenElse(infinite, size, hn::Sqrt(hn::Add(x, splat(0.0F))));
}

// As numerics::round_to_f16.
HWY_INLINE VecF round_f16(VecF x) {
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
HWY_INLINE VecF round_bf16(VecF x) {
  using U32 = hn::RebindToUnsigned<F32>;
  const U32 u;
  const auto bits = hn::BitCast(u, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1U));
  const auto kept =
      hn::And(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fffU))), hn::Set(u, 0xffff0000U));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::BitCast(F32(), kept));
}

// numerics::larger. Highway's Ne is an ordered comparison on x86, false for NaN: Not(Eq) is not.
HWY_INLINE VecF larger(VecF a, VecF b) {
  return hn::IfThenElse(hn::And(hn::Not(hn::Gt(a, b)), hn::Eq(a, a)), b, a);
}

// numerics::round_saturate for one zero point and range.
struct Rounding {
  VecF lo, hi;
  VecI zero_point;
};

HWY_INLINE Rounding rounding(int32_t z, int32_t lo, int32_t hi) {
  return {splat(static_cast<float>(lo - z)), splat(static_cast<float>(hi - z)), hn::Set(I32(), z)};
}

HWY_INLINE VecI round_saturate(VecF r, const Rounding& to) {
  r = hn::IfThenElseZero(hn::Eq(r, r), r);
  return hn::Add(hn::NearestInt(at_most(at_least(r, to.lo), to.hi)), to.zero_point);
}

// Codes of what lies less than 1/2 - `sure` from `steps`; false: that does not tell all of them. NaN tells
// nothing.
HWY_INLINE bool round_near(VecF steps, VecF sure, const Rounding& to, VecI& codes) {
  const VecF r = at_most(at_least(steps, to.lo), to.hi);
  const VecF shifted = hn::Add(r, splat(nc::kMagic)); // r rounded, in its low bits
  const VecF off = hn::Abs(hn::Sub(r, hn::Sub(shifted, splat(nc::kMagic))));
  const VecI from_magic = hn::Sub(to.zero_point, hn::Set(I32(), nc::kMagicBits));
  codes = hn::Add(hn::BitCast(I32(), shifted), from_magic);
  return hn::AllTrue(F32(), hn::Lt(off, sure));
}

// numerics::quantize to bytes. x times 1 / scale, rounded twice, is less than 1e-4 from the quotient,
// rounded once, where that is at most 512: vectors with a number that near to the middle between two codes
// are divided, others need not be.
class Quantizer {
 public:
  Quantizer(float scale, const Rounding& to)
      : to_(to), scale_(splat(scale)), inverse_(splat(1.0F / scale)),
        sure_(splat(scale >= kLeast && scale <= 1.0F / kLeast ? 0.4999F : -1.0F)) {}

  HWY_INLINE VecI operator()(VecF x) const {
    VecI codes;
    if (HWY_LIKELY(round_near(hn::Mul(x, inverse_), sure_, to_, codes))) return codes;
    return round_saturate(hn::Div(x, scale_), to_);
  }

 private:
  static constexpr float kLeast = 0x1p-60F; // the reciprocal of such a scale has all its bits
  Rounding to_;
  VecF scale_, inverse_, sure_;
};

// The first `count` lanes, others 0; reads nothing past them. AVX-512 has masks for it.
template <typename D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, int64_t count) {
#if HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  HWY_ALIGN T part[hn::MaxLanes(D())] = {};
  for (int64_t i = 0; i < count; ++i) {
    part[i] = p[i];
  }
  return hn::Load(d, part);
#endif
}

template <typename D, typename T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* p, int64_t count) {
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  HWY_ALIGN T part[hn::MaxLanes(D())];
  hn::Store(v, d, part);
  for (int64_t i = 0; i < count; ++i) {
    p[i] = part[i];
  }
#endif
}

HWY_INLINE VecF load_some(const float* p, int64_t count) {
  return load_first(F32(), p, count);
}

HWY_INLINE void store_some(VecF v, float* p, int64_t count) {
  store_first(v, F32(), p, count);
}

// One vector of 8-bit codes, widened; T is int8_t or uint8_t.
template <typename T>
HWY_INLINE VecI load_codes(const T* p) {
  return hn::PromoteTo(I32(), hn::LoadU(hn::Rebind<T, I32>(), p));
}

template <typename T>
HWY_INLINE VecI load_some_codes(const T* p, int64_t count) {
  return hn::PromoteTo(I32(), load_first(hn::Rebind<T, I32>(), p, count));
}

// Values must fit T.
template <typename T>
HWY_INLINE void store_codes(VecI v, T* p) {
  const hn::Rebind<T, I32> d;
  hn::StoreU(hn::DemoteTo(d, v), d, p);
}

template <typename T>
HWY_INLINE void store_some_codes(VecI v, T* p, int64_t count) {
  const hn::Rebind<T, I32> d;
  store_first(hn::DemoteTo(d, v), d, p, count);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
