// SPDX-License-Identifier: Apache-2.0
// Stored codes of a panel (stored_codes.h) as vectors of floats. Included once per Highway target,
// inside files that use foreach_target.h.
#if defined(OCTET_RUNTIME_KERNELS_DECODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTET_RUNTIME_KERNELS_DECODE_INL_H
#undef OCTET_RUNTIME_KERNELS_DECODE_INL_H
#else
#define OCTET_RUNTIME_KERNELS_DECODE_INL_H
#endif

#include "runtime/kernels/stored_codes.h"
#include "runtime/kernels/vector_math-inl.h"

#include "octet/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

struct TwoVectors {
  VecF a, b;
};

// Each form of codes gives q / kFactor + kZero of two vectors of columns.
template <typename T>
struct CodesOf8Bits {
  static constexpr float kZero = 0.0F, kFactor = 1.0F;
  HWY_INLINE static TwoVectors row(const uint8_t* codes, int64_t k) {
    const T* p = reinterpret_cast<const T*>(codes) + k * static_cast<int64_t>(2 * kLanesF);
    return {hn::ConvertTo(F32(), load_codes(p)), hn::ConvertTo(F32(), load_codes(p + kLanesF))};
  }
};

// An integer u below 2^23 in the low bits of 2^23 is 2^23 + u, from which 2^23 + its zero point is
// taken off without rounding.
constexpr int32_t kTwo23Bits = 0x4b000000;
constexpr float kTwo23 = 0x1p23F;

template <int32_t kLowest>
struct CodesOf4Bits {
  static constexpr float kFactor = 1.0F;
#if defined(__x86_64__) && HWY_TARGET == HWY_AVX3
  static constexpr float kZero = 0.0F;
  static constexpr auto kFirst = static_cast<float>(kLowest);
  static constexpr float kNumbers[16] = {
      kFirst,         kFirst + 1.0F,  kFirst + 2.0F,  kFirst + 3.0F, kFirst + 4.0F,  kFirst + 5.0F,
      kFirst + 6.0F,  kFirst + 7.0F,  kFirst + 8.0F,  kFirst + 9.0F, kFirst + 10.0F, kFirst + 11.0F,
      kFirst + 12.0F, kFirst + 13.0F, kFirst + 14.0F, kFirst + 15.0F};
  // The permutation looks at the low 4 bits of an index alone.
  HWY_INLINE static TwoVectors row(const uint8_t* codes, int64_t k) {
    const VecI bytes = load_codes(codes + k * static_cast<int64_t>(kLanesF));
    const VecF numbers = hn::LoadU(F32(), kNumbers);
    return {VecF{_mm512_permutexvar_ps(bytes.raw, numbers.raw)},
            VecF{_mm512_permutexvar_ps(hn::ShiftRight<4>(bytes).raw, numbers.raw)}};
  }
#else
  static constexpr float kZero = kTwo23 - static_cast<float>(kLowest);
  HWY_INLINE static TwoVectors row(const uint8_t* codes, int64_t k) {
    const VecI bytes = load_codes(codes + k * static_cast<int64_t>(kLanesF));
    const VecI low = hn::And(bytes, hn::Set(I32(), 15));
    const VecI magic = hn::Set(I32(), kTwo23Bits);
    return {hn::BitCast(F32(), hn::Or(low, magic)),
            hn::BitCast(F32(), hn::Or(hn::ShiftRight<4>(bytes), magic))};
  }
#endif
};

template <int32_t kLowest>
struct CodesOf2Bits {
  static constexpr float kZero = kTwo23 - static_cast<float>(kLowest), kFactor = 1.0F;
  HWY_INLINE static TwoVectors row(const uint8_t* codes, int64_t k) {
    const VecI both = load_codes(codes + k / 2 * static_cast<int64_t>(kLanesF));
    const VecI bytes = k % 2 == 0 ? both : hn::ShiftRight<4>(both);
    const VecI three = hn::Set(I32(), 3), magic = hn::Set(I32(), kTwo23Bits);
    return {hn::BitCast(F32(), hn::Or(hn::And(bytes, three), magic)),
            hn::BitCast(F32(), hn::Or(hn::And(hn::ShiftRight<2>(bytes), three), magic))};
  }
};

// E4M3 without NaN, exponent and mantissa moved to where f16 has them: as if 15 were its bias.
template <int kBias>
struct CodesOfE4M3 {
  static constexpr float kZero = 0.0F, kFactor = static_cast<float>(1 << (15 - kBias));
  HWY_INLINE static VecF number(const uint8_t* p) {
    const hn::Rebind<int16_t, F32> d16;
    const auto code = hn::PromoteTo(
        d16, hn::LoadU(hn::Rebind<int8_t, F32>(), reinterpret_cast<const int8_t*>(p)));
    const auto half = hn::And(hn::ShiftLeft<7>(code), hn::Set(d16, static_cast<int16_t>(0xbfff)));
    return hn::PromoteTo(F32(), hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), half));
  }
  HWY_INLINE static TwoVectors row(const uint8_t* codes, int64_t k) {
    const uint8_t* p = codes + k * static_cast<int64_t>(2 * kLanesF);
    return {number(p), number(p + kLanesF)};
  }
};

// E5M2 is the high byte of f16.
struct CodesOfE5M2 {
  static constexpr float kZero = 0.0F, kFactor = 1.0F;
  HWY_INLINE static VecF number(const uint8_t* p) {
    const hn::Rebind<uint16_t, F32> d16;
    const auto code = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<uint8_t, F32>(), p));
    return hn::PromoteTo(F32(),
                         hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), hn::ShiftLeft<8>(code)));
  }
  HWY_INLINE static TwoVectors row(const uint8_t* codes, int64_t k) {
    const uint8_t* p = codes + k * static_cast<int64_t>(2 * kLanesF);
    return {number(p), number(p + kLanesF)};
  }
};

enum class NotNumbers : uint8_t {
  kLast,        ///< S.1111.111 is NaN
  kHighest,     ///< an exponent of all ones: infinity and NaN
  kNegativeZero ///< 1.0..0 is NaN
};

// An FP8 code, its exponent and mantissa moved to where f32 has them; subnormal ones, which would be
// 1.m there, less the 1.
template <int kMantissa, int kBias, NotNumbers kNotNumbers>
struct CodesOfFp8 {
  static constexpr float kZero = 0.0F, kFactor = 1.0F;
  HWY_INLINE static VecF number(VecI code) {
    const I32 di;
    const F32 df;
    const VecI magnitude = hn::And(code, hn::Set(di, 0x7f));
    const VecI sign = hn::ShiftLeft<31>(hn::ShiftRight<7>(code));
    const VecI moved =
        hn::Add(hn::ShiftLeft<23 - kMantissa>(magnitude), hn::Set(di, (127 - kBias) * (1 << 23)));
    constexpr auto kLeastNormal = static_cast<float>(1.0 / (1 << (kBias - 1)));
    const VecF subnormal =
        hn::Sub(hn::BitCast(df, hn::Add(moved, hn::Set(di, 1 << 23))), splat(kLeastNormal));
    const auto is_subnormal = hn::RebindMask(df, hn::Lt(magnitude, hn::Set(di, 1 << kMantissa)));
    VecF y = hn::IfThenElse(is_subnormal, subnormal, hn::BitCast(df, moved));
    if constexpr (kNotNumbers == NotNumbers::kHighest) {
      const auto highest = hn::Gt(magnitude, hn::Set(di, (0x7f >> kMantissa << kMantissa) - 1));
      const VecI bits = hn::BitCast(di, y);
      y = hn::BitCast(df, hn::IfThenElse(highest, hn::Or(bits, hn::Set(di, 0x7f800000)), bits));
    } else if constexpr (kNotNumbers == NotNumbers::kLast) {
      y = hn::IfThenElse(hn::RebindMask(df, hn::Eq(magnitude, hn::Set(di, 0x7f))), hn::NaN(df), y);
    } else {
      y = hn::IfThenElse(hn::RebindMask(df, hn::Eq(code, hn::Set(di, 0x80))), hn::NaN(df), y);
    }
    return hn::BitCast(df, hn::Or(hn::BitCast(di, y), sign));
  }
  HWY_INLINE static TwoVectors row(const uint8_t* codes, int64_t k) {
    const uint8_t* p = codes + k * static_cast<int64_t>(2 * kLanesF);
    return {number(load_codes(p)), number(load_codes(p + kLanesF))};
  }
};

// Scales and zero points of two vectors of columns.
template <class Codes, bool kZeros>
struct Grids {
  static constexpr bool kSubtracts = kZeros || Codes::kZero != 0.0F;
  TwoVectors scale, zero;

  // `zeros`: may be null without kZeros. A power of two, which moves from q to the scale, changes no
  // bit of the product.
  HWY_INLINE Grids(const float* scales, const float* zeros) {
    const F32 d;
    const VecF own = splat(Codes::kZero), factor = splat(Codes::kFactor);
    scale = {hn::Mul(hn::LoadU(d, scales), factor),
             hn::Mul(hn::LoadU(d, scales + kLanesF), factor)};
    zero = {own, own};
    if constexpr (kZeros) {
      const VecF less = splat(1.0F / Codes::kFactor);
      zero = {hn::Mul(hn::LoadU(d, zeros), less), hn::Mul(hn::LoadU(d, zeros + kLanesF), less)};
      if constexpr (Codes::kZero != 0.0F) zero = {hn::Add(zero.a, own), hn::Add(zero.b, own)};
    }
  }

  HWY_INLINE TwoVectors apply(TwoVectors q) const {
    if constexpr (kSubtracts) q = {hn::Sub(q.a, zero.a), hn::Sub(q.b, zero.b)};
    return {hn::Mul(q.a, scale.a), hn::Mul(q.b, scale.b)};
  }
};

// Whether no factor makes a scale of these blocks infinite.
HWY_INLINE bool are_small(const DecodeArgs& a) {
  constexpr auto kWidth = static_cast<int64_t>(2 * kLanesF);
  const VecF limit = splat(0x1p119F);
  for (int64_t block = a.begin / a.block; block * a.block < a.end; ++block)
    for (size_t half = 0; half < 2; ++half) {
      const VecF s = hn::LoadU(F32(), a.scales + block * kWidth + half * kLanesF);
      if (!hn::AllTrue(F32(), hn::Lt(hn::Abs(s), limit))) return false;
    }
  return true;
}

// Calls use(codes) with the form of the type, one of FP8.
template <class Use>
HWY_INLINE void with_fp8(DType type, Use&& use) {
  switch (type) {
  case DType::kFloat8E4M3FN:
    return use(CodesOfFp8<3, 7, NotNumbers::kLast>());
  case DType::kFloat8E4M3FNUZ:
    return use(CodesOfFp8<3, 8, NotNumbers::kNegativeZero>());
  case DType::kFloat8E5M2:
    return use(CodesOfFp8<2, 15, NotNumbers::kHighest>());
  case DType::kFloat8E5M2FNUZ:
    return use(CodesOfFp8<2, 16, NotNumbers::kNegativeZero>());
  default:
    return;
  }
}

// The same of weights of any type, with their best form.
template <class Use>
HWY_INLINE void with_codes(const DecodeArgs& a, Use&& use) {
  switch (a.type) {
  case DType::kInt8:
    return use(CodesOf8Bits<int8_t>());
  case DType::kUint8:
    return use(CodesOf8Bits<uint8_t>());
  case DType::kInt4:
    return use(CodesOf4Bits<-8>());
  case DType::kUint4:
    return use(CodesOf4Bits<0>());
  case DType::kInt2:
    return use(CodesOf2Bits<-2>());
  case DType::kUint2:
    return use(CodesOf2Bits<0>());
  case DType::kFloat8E5M2:
    return use(CodesOfE5M2());
  case DType::kFloat8E4M3FN:
    if (a.has_nan || !are_small(a)) break;
    return use(CodesOfE4M3<7>());
  case DType::kFloat8E4M3FNUZ:
    if (a.has_nan || !are_small(a)) break;
    return use(CodesOfE4M3<8>());
  default:
    break;
  }
  with_fp8(a.type, use);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
