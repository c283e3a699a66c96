// SPDX-License-Identifier: Apache-2.0
// The bytes of 64 numbers by two permutations of 128 entries each, then interleaved. Needs VBMI
// besides. Contract: float_table.h.
#include "runtime/kernels/float_table.h"

#if defined(__x86_64__)
// GCC 12's own intrinsics start from vectors that it takes for uninitialized.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")
#endif

namespace octet::kernels {
namespace float_table_vbmi {
namespace {

/// One byte of each number.
struct Plane {
  __m512i first, second, third, fourth;

  explicit Plane(const uint8_t* entries)
      : first(_mm512_load_si512(entries)), second(_mm512_load_si512(entries + 64)),
        third(_mm512_load_si512(entries + 128)), fourth(_mm512_load_si512(entries + 192)) {}

  __m512i at(__m512i codes, __mmask64 high) const {
    return _mm512_mask_blend_epi8(high, _mm512_permutex2var_epi8(first, codes, second),
                                  _mm512_permutex2var_epi8(third, codes, fourth));
  }
};

inline void store(float* y, __mmask16 there, __m512i numbers) {
  _mm512_mask_storeu_epi32(y, there, numbers);
}

} // namespace
} // namespace float_table_vbmi

void float_lookup_avx512vbmi(const FloatTable& table,
                             const uint8_t* codes,
                             int64_t count,
                             float* y) {
  using float_table_vbmi::Plane;
  using float_table_vbmi::store;
  const Plane byte0(table.planes[0]), byte1(table.planes[1]), byte2(table.planes[2]),
      byte3(table.planes[3]);
  // Interleaving works within lanes: the k-th result has four numbers of each, which are made to be
  // 16 k to 16 k + 15.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (int64_t i = 0; i < count; i += 64) {
    const __mmask64 there = count - i >= 64 ? ~0ULL : (1ULL << (count - i)) - 1;
    const __m512i x = _mm512_permutexvar_epi32(order, _mm512_maskz_loadu_epi8(there, codes + i));
    const __mmask64 high = _mm512_movepi8_mask(x);
    const __m512i b0 = byte0.at(x, high), b1 = byte1.at(x, high), b2 = byte2.at(x, high),
                  b3 = byte3.at(x, high);
    const __m512i low01 = _mm512_unpacklo_epi8(b0, b1), high01 = _mm512_unpackhi_epi8(b0, b1);
    const __m512i low23 = _mm512_unpacklo_epi8(b2, b3), high23 = _mm512_unpackhi_epi8(b2, b3);
    store(y + i, static_cast<__mmask16>(there), _mm512_unpacklo_epi16(low01, low23));
    if (count - i > 16)
      store(y + i + 16, static_cast<__mmask16>(there >> 16), _mm512_unpackhi_epi16(low01, low23));
    if (count - i > 32)
      store(y + i + 32, static_cast<__mmask16>(there >> 32), _mm512_unpacklo_epi16(high01, high23));
    if (count - i > 48)
      store(y + i + 48, static_cast<__mmask16>(there >> 48), _mm512_unpackhi_epi16(high01, high23));
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
