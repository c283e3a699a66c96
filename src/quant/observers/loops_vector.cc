// SPDX-License-Identifier: Apache-2.0
// Vector loops of observers.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quant/observers/loops_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <bit>

#include "quant/observers/loops.h"

HWY_BEFORE_NAMESPACE();
namespace octet::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 8>;
using I32 = hn::RebindToSigned<F32>;
using U16 = hn::Rebind<uint16_t, I32>;
using Vec = hn::Vec<F32>;
using Ints = hn::Vec<I32>;
constexpr int64_t kLanes = 8;

/// Of every eighth number. Magnitudes as integers are in the order of the numbers, with NaN behind
/// infinity.
struct Found {
  Vec lo, hi;
  Ints magnitude;
  HWY_INLINE explicit Found(Vec x) : lo(x), hi(x), magnitude(hn::Zero(I32())) {}
  HWY_INLINE void take(Vec x) {
    lo = hn::Min(lo, x);
    hi = hn::Max(hi, x);
    magnitude = hn::Max(magnitude, hn::BitCast(I32(), hn::Abs(x)));
  }
  HWY_INLINE void take(const Found& other) {
    lo = hn::Min(lo, other.lo);
    hi = hn::Max(hi, other.hi);
    magnitude = hn::Max(magnitude, other.magnitude);
  }
};

} // namespace

bool extremes(const float* x, int64_t count, Extremes& found) {
  constexpr int64_t kTogether = 4 * kLanes;
  if (count < kTogether) return kObserverScalar.extremes(x, count, found);
  const F32 d;
  Found a(hn::LoadU(d, x)), b = a, c = a, e = a;
  for (int64_t i = 0; i + kTogether <= count; i += kTogether) {
    a.take(hn::LoadU(d, x + i));
    b.take(hn::LoadU(d, x + i + kLanes));
    c.take(hn::LoadU(d, x + i + 2 * kLanes));
    e.take(hn::LoadU(d, x + i + 3 * kLanes));
  }
  // What is left is less than `kTogether`; some of it may be looked at twice.
  for (int64_t i = count - kTogether; i < count; i += kLanes)
    a.take(hn::LoadU(d, x + i));
  a.take(b);
  c.take(e);
  a.take(c);
  constexpr int32_t kInfinity = 0x7f800000;
  found = {hn::GetLane(hn::MinOfLanes(d, a.lo)), hn::GetLane(hn::MaxOfLanes(d, a.hi))};
  return hn::GetLane(hn::MaxOfLanes(I32(), a.magnitude)) < kInfinity;
}

void places(const float* x, int64_t count, int exponent, uint16_t* place) {
  constexpr int kLargestPower = 127;
  if (exponent < -kLargestPower || exponent >= kLargestPower)
    return kObserverScalar.places(x, count, exponent, place);
  const F32 d;
  // A power of two: the product is exact, or so small that it is rounded down to 0 all the same.
  const Vec inverse = hn::Set(d, std::bit_cast<float>((kLargestPower - exponent) << 23));
  const Ints zero = hn::Set(I32(), kPlaceOfZero);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec v = hn::LoadU(d, x + i);
    const Ints bin = hn::ConvertTo(I32(), hn::Mul(hn::Abs(v), inverse));
    const auto sign = hn::ShiftRight<31>(hn::BitCast(hn::RebindToUnsigned<F32>(), v));
    const Ints side = hn::BitCast(I32(), hn::ShiftLeft<kBinsLog2>(sign));
    const auto is_zero = hn::RebindMask(I32(), hn::Eq(v, hn::Zero(d)));
    hn::StoreU(hn::DemoteTo(U16(), hn::IfThenElse(is_zero, zero, hn::Or(bin, side))), U16(),
               place + i);
  }
  kObserverScalar.places(x + i, count - i, exponent, place + i);
}
#endif
} // namespace octet::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet {
const ObserverLoops kObserverAvx2{N_AVX2::extremes, N_AVX2::places};
} // namespace octet
#endif
