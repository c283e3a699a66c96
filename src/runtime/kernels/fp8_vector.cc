// SPDX-License-Identifier: Apache-2.0
// Vector forms of the codecs of FP8.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/fp8_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/decode-inl.h"
#include "runtime/kernels/fp8.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

// What encoding makes of numbers beyond the largest, infinity and NaN: codes without a sign.
struct Fp8Ends {
  int32_t most, beyond, infinity, nan;
};

template <NotNumbers kNotNumbers>
Fp8Ends ends_of(Saturate saturate) {
  const bool saturates = saturate == Saturate::kYes;
  if constexpr (kNotNumbers == NotNumbers::kLast) {
    const int32_t beyond = saturates ? 0x7e : 0x7f;
    return {0x7e, beyond, beyond, 0x7f};
  } else if constexpr (kNotNumbers == NotNumbers::kHighest) {
    const int32_t beyond = saturates ? 0x7b : 0x7c;
    return {0x7b, beyond, beyond, 0x7e};
  } else {
    return {0x7f, saturates ? 0x7f : 0x80, 0x80, 0x80};
  }
}

// Rounded half to even: in the bits where the result is normal, by an addition that leaves no bits
// for a fraction where it is not.
template <int kMantissa, int kBias, NotNumbers kNotNumbers>
HWY_INLINE VecI fp8_code(VecF x, const Fp8Ends& ends) {
  const I32 di;
  const F32 df;
  constexpr int kDropped = 23 - kMantissa;
  const VecI bits = hn::BitCast(di, x);
  const VecI magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
  const VecI odd = hn::And(hn::ShiftRight<kDropped>(magnitude), hn::Set(di, 1));
  const VecI up = hn::Add(odd, hn::Set(di, (1 << (kDropped - 1)) - 1));
  const VecI normal = hn::Sub(hn::ShiftRight<kDropped>(hn::Add(magnitude, up)),
                              hn::Set(di, (127 - kBias) << kMantissa));
  constexpr int kMagicExponent = 24 - kBias - kMantissa;
  const VecI magic = hn::Set(di, (127 + kMagicExponent) << 23);
  const VecF sum = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, magic));
  const VecI subnormal = hn::Sub(hn::BitCast(di, sum), magic);
  const auto is_subnormal = hn::Lt(magnitude, hn::Set(di, (128 - kBias) << 23));
  VecI code = hn::IfThenElse(is_subnormal, subnormal, normal);
  code = hn::IfThenElse(hn::Gt(code, hn::Set(di, ends.most)), hn::Set(di, ends.beyond), code);
  const VecI infinity = hn::Set(di, 0x7f800000);
  code = hn::IfThenElse(hn::Eq(magnitude, infinity), hn::Set(di, ends.infinity), code);
  code = hn::IfThenElse(hn::Gt(magnitude, infinity), hn::Set(di, ends.nan), code);
  VecI sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(di, 0x80));
  // There is no negative zero, whose code is that of NaN.
  if constexpr (kNotNumbers == NotNumbers::kNegativeZero)
    sign = hn::IfThenElse(hn::Eq(code, hn::Zero(di)), hn::Zero(di), sign);
  return hn::Or(code, sign);
}

template <int kMantissa, int kBias, NotNumbers kNotNumbers>
void encode_some(CodesOfFp8<kMantissa, kBias, kNotNumbers> /*format*/, const EncodeFp8Args& a) {
  constexpr auto kStep = static_cast<int64_t>(kLanesF);
  const Fp8Ends ends = ends_of<kNotNumbers>(a.saturate);
  const VecF scale = splat(a.scale);
  int64_t i = 0;
  for (; i + kStep <= a.count; i += kStep)
    store_codes(
        fp8_code<kMantissa, kBias, kNotNumbers>(hn::Div(hn::LoadU(F32(), a.x + i), scale), ends),
        a.y + i);
  if (i == a.count) return;
  const VecF x = load_some(a.x + i, a.count - i);
  store_some_codes(fp8_code<kMantissa, kBias, kNotNumbers>(hn::Div(x, scale), ends), a.y + i,
                   a.count - i);
}

template <class Codes>
void decode_some(const DecodeFp8Args& a) {
  constexpr auto kStep = static_cast<int64_t>(kLanesF);
  const VecF scale = splat(a.scale);
  int64_t i = 0;
  for (; i + kStep <= a.count; i += kStep)
    hn::StoreU(hn::Mul(Codes::number(load_codes(a.x + i)), scale), F32(), a.y + i);
  if (i < a.count)
    store_some(hn::Mul(Codes::number(load_some_codes(a.x + i, a.count - i)), scale), a.y + i,
               a.count - i);
}

} // namespace

void encode_fp8_any(const EncodeFp8Args& a) {
  with_fp8(a.type, [&](auto format) { encode_some(format, a); });
}
void decode_fp8_any(const DecodeFp8Args& a) {
  with_fp8(a.type, [&]([[maybe_unused]] auto format) { decode_some<decltype(format)>(a); });
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void encode_fp8_avx2(const EncodeFp8Args& args) {
  N_AVX2::encode_fp8_any(args);
}
void encode_fp8_avx512(const EncodeFp8Args& args) {
  N_AVX3::encode_fp8_any(args);
}
void decode_fp8_avx2(const DecodeFp8Args& args) {
  N_AVX2::decode_fp8_any(args);
}
void decode_fp8_avx512(const DecodeFp8Args& args) {
  N_AVX3::decode_fp8_any(args);
}
} // namespace octet::kernels
#endif
