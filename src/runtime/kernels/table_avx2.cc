// SPDX-License-Identifier: Apache-2.0
// Sixteen shuffles of 16 entries. A shuffle gives 0 where bit 7 of the index is set: the offset from
// the 16 entries keeps it clear, by a sum that saturates, for the codes that are among them alone.
#if defined(__x86_64__)
#include <cstdint>

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

namespace octet::kernels {

void table_lookup_avx2(const uint8_t table[256], const uint8_t* x, int64_t count, uint8_t* y) {
  const __m256i most = _mm256_set1_epi8(0x70);
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    __m256i out = _mm256_setzero_si256();
    for (int64_t part = 0; part < 16; ++part) {
      const __m256i entries = _mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * part)));
      const __m256i offset = _mm256_sub_epi8(codes, _mm256_set1_epi8(static_cast<char>(16 * part)));
      out = _mm256_or_si256(out, _mm256_shuffle_epi8(entries, _mm256_adds_epu8(offset, most)));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), out);
  }
  for (; i < count; ++i)
    y[i] = table[x[i]];
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
