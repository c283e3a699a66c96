// SPDX-License-Identifier: Apache-2.0
// Vector form of GridSample: as many points at a time as there are doubles. Both taps of a pair are
// read at once.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/grid_sample_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/grid_sample.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if defined(__x86_64__) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
namespace {

using F64 = hn::CappedTag<double, kSampledTogether>;
using U64 = hn::RebindToUnsigned<F64>;
using Floats = hn::Rebind<float, F64>;
using Bits = hn::Rebind<uint32_t, F64>;
using VecD = hn::Vec<F64>;
using VecU = hn::Vec<U64>;
constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(F64()));

// Loads of their own: gathers are slower on most processors.
HWY_INLINE __m128i two_at(const int64_t* offset, const std::byte* image) {
  const __m128d first = _mm_load_sd(reinterpret_cast<const double*>(image + offset[0]));
  return _mm_castpd_si128(_mm_loadh_pd(first, reinterpret_cast<const double*>(image + offset[1])));
}
HWY_INLINE __m256i four_at(const int64_t* offset, const std::byte* image) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(two_at(offset, image)),
                                 two_at(offset + 2, image), 1);
}
HWY_INLINE VecU pairs_at(const SampledPoints& p, int64_t place, const float* image) {
  const auto* from = reinterpret_cast<const std::byte*>(image);
#if HWY_TARGET == HWY_AVX3
  const __m512i low = _mm512_castsi256_si512(four_at(p.pair + place, from));
  return VecU{_mm512_inserti64x4(low, four_at(p.pair + place + 4, from), 1)};
#else
  return VecU{four_at(p.pair + place, from)};
#endif
}

// Shifts of 64 bits leave 0 in these instructions; Highway's function leaves them open.
HWY_INLINE hn::Vec<Floats> tap_at(const SampledPoints& p, int64_t place, VecU pairs) {
  const VecU shift = hn::LoadU(U64(), p.shift + place);
#if HWY_TARGET == HWY_AVX3
  const VecU moved{_mm512_srlv_epi64(pairs.raw, shift.raw)};
#else
  const VecU moved{_mm256_srlv_epi64(pairs.raw, shift.raw)};
#endif
  return hn::BitCast(Floats(), hn::TruncateTo(Bits(), moved));
}

HWY_INLINE VecD weighed(const double* weights, hn::Vec<Floats> taps) {
  return hn::Mul(hn::LoadU(F64(), weights), hn::PromoteTo(F64(), taps));
}

template <int64_t kTaps>
HWY_INLINE hn::Vec<Floats> sampled(const SampledPoints& p, int64_t i, const float* image) {
  if constexpr (kTaps == 1) {
    return hn::Add(tap_at(p, i, pairs_at(p, i, image)), hn::Zero(Floats())); // -0 becomes 0
  } else {
    VecD sum = hn::Zero(F64());
    for (int64_t r = 0; r < kTaps; ++r) {
      VecD line = hn::Zero(F64());
      for (int64_t c = 0; c < kTaps; c += 2) {
        const VecU pairs = pairs_at(p, (r * (kTaps / 2) + c / 2) * kSampledPoints + i, image);
        for (int64_t k = c; k < c + 2; ++k) {
          line = hn::Add(line, weighed(p.column + k * kSampledPoints + i,
                                       tap_at(p, (r * kTaps + k) * kSampledPoints + i, pairs)));
        }
      }
      sum = hn::Add(sum, hn::Mul(hn::LoadU(F64(), p.row + r * kSampledPoints + i), line));
    }
    return hn::DemoteTo(Floats(), sum);
  }
}

template <int64_t kTaps>
HWY_INLINE void sample_all(const SampledPoints& p, const float* image, float* y) {
  int64_t i = 0;
  for (; i + kStep <= p.count; i += kStep) {
    hn::StoreU(sampled<kTaps>(p, i, image), Floats(), y + i);
  }
  if (i == p.count) return;
  float rest[kSampledTogether];
  hn::StoreU(sampled<kTaps>(p, i, image), Floats(), rest);
  for (int64_t k = 0; i < p.count; ++i, ++k) {
    y[i] = rest[k];
  }
}

} // namespace

void sample_points(const SampledPoints& p, const float* image, float* y) {
  if (p.taps == 1) return sample_all<1>(p, image, y);
  if (p.taps == 2) return sample_all<2>(p, image, y);
  return sample_all<4>(p, image, y);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void sample_points_avx2(const SampledPoints& points, const float* image, float* y) {
  N_AVX2::sample_points(points, image, y);
}
void sample_points_avx512(const SampledPoints& points, const float* image, float* y) {
  N_AVX3::sample_points(points, image, y);
}
} // namespace octet::kernels
#endif
