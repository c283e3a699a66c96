// SPDX-License-Identifier: Apache-2.0
// Vector form of lines between codes.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/affine_codes_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/affine_codes.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kAffineStep = static_cast<int64_t>(kLanesF);

/// numerics::round_saturate of what is no NaN and stays within int32: bounds that are integers
/// commute with rounding.
HWY_INLINE VecI rounded(VecF r, VecI zero, VecI lo, VecI hi) {
  return hn::Min(hn::Max(hn::Add(hn::NearestInt(r), zero), lo), hi);
}

template <typename X, typename Y>
void affine_range(const AffineCall& call, int64_t begin, int64_t end) {
  const AffineCodes& a = *call.affine;
  const auto period = static_cast<int64_t>(a.factor.size());
  const float* const factor = a.factor.data();
  const float* const offset = a.offset.data();
  const VecI zero = hn::Set(I32(), a.zero_point);
  const VecI lo = hn::Set(I32(), a.lo);
  const VecI hi = hn::Set(I32(), a.hi);
  for (int64_t at = begin; at < end; at += period) {
    const X* const x = static_cast<const X*>(call.x) + at;
    Y* const y = static_cast<Y*>(call.y) + at;
    const int64_t count = end - at < period ? end - at : period;
    int64_t i = 0;
    for (; i + kAffineStep <= count; i += kAffineStep) {
      const VecF r = hn::MulAdd(hn::ConvertTo(F32(), load_codes(x + i)),
                                hn::LoadU(F32(), factor + i), hn::LoadU(F32(), offset + i));
      store_codes(rounded(r, zero, lo, hi), y + i);
    }
    if (i < count) {
      const VecF r = hn::MulAdd(hn::ConvertTo(F32(), load_some_codes(x + i, count - i)),
                                load_some(factor + i, count - i), load_some(offset + i, count - i));
      store_some_codes(rounded(r, zero, lo, hi), y + i, count - i);
    }
  }
}

} // namespace

void run_affine(const AffineCall& call, int64_t begin, int64_t end) {
  if (call.affine->x_signed)
    return call.affine->y_signed ? affine_range<int8_t, int8_t>(call, begin, end)
                                 : affine_range<int8_t, uint8_t>(call, begin, end);
  return call.affine->y_signed ? affine_range<uint8_t, int8_t>(call, begin, end)
                               : affine_range<uint8_t, uint8_t>(call, begin, end);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void affine_codes_avx2(const AffineCall& call, int64_t begin, int64_t end) {
  N_AVX2::run_affine(call, begin, end);
}
void affine_codes_avx512(const AffineCall& call, int64_t begin, int64_t end) {
  N_AVX3::run_affine(call, begin, end);
}
} // namespace octet::kernels
#endif
