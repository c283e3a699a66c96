// SPDX-License-Identifier: Apache-2.0
// Two permutations of 128 entries each, of which bit 7 of the code takes one. Needs VBMI besides.
#if defined(__x86_64__)
#include <cstdint>

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi"))),      \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vbmi")
#endif

namespace octet::kernels {

void table_lookup_avx512vbmi(const uint8_t table[256],
                             const uint8_t* x,
                             int64_t count,
                             uint8_t* y) {
  const __m512i first = _mm512_loadu_si512(table), second = _mm512_loadu_si512(table + 64);
  const __m512i third = _mm512_loadu_si512(table + 128), fourth = _mm512_loadu_si512(table + 192);
  for (int64_t i = 0; i < count; i += 64) {
    const __mmask64 there = count - i >= 64 ? ~0ULL : (1ULL << (count - i)) - 1;
    const __m512i codes = _mm512_maskz_loadu_epi8(there, x + i);
    const __m512i low = _mm512_permutex2var_epi8(first, codes, second);
    const __m512i high = _mm512_permutex2var_epi8(third, codes, fourth);
    _mm512_mask_storeu_epi8(y + i, there,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high));
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
