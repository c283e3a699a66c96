// SPDX-License-Identifier: Apache-2.0
// Sums of an 8 x 16 tile with AVX-512 (F, BW, DQ, VL). Contract: igemm_tile.h.
#include "runtime/kernels/igemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#endif

namespace octet::kernels {
namespace avx512 {
namespace {

using Vector = __m512i;

inline Vector load(const void* p) {
  return _mm512_loadu_si512(p);
}

// 4 bytes at p in every lane.
inline Vector broadcast(const void* p) {
  int bits = 0;
  __builtin_memcpy(&bits, p, 4);
  return _mm512_set1_epi32(bits);
}

inline void store(Vector v, int32_t* out) {
  _mm512_storeu_si512(out, v);
}

inline Vector zeros() {
  return _mm512_setzero_si512();
}

inline Vector words(int16_t v) {
  return _mm512_set1_epi16(v);
}

inline Vector multiply_bytes(Vector x, Vector w) {
  return _mm512_maddubs_epi16(x, w);
}

inline Vector multiply_words(Vector x, Vector w) {
  return _mm512_madd_epi16(x, w);
}

inline Vector add_words(Vector a, Vector b) {
  return _mm512_add_epi16(a, b);
}

inline Vector add_ints(Vector a, Vector b) {
  return _mm512_add_epi32(a, b);
}

inline Vector flip(Vector x, Vector mask) {
  return _mm512_xor_si512(x, mask);
}

inline Vector even_bytes(Vector x, Vector mask) {
  return _mm512_and_si512(x, mask);
}

inline Vector odd_bytes(Vector x) {
  return _mm512_srli_epi16(x, 8);
}

#include "runtime/kernels/igemm_int16-inl.h"

} // namespace
} // namespace avx512

void dot_tile_avx512(const PackedPanel& panel,
                     const uint8_t* const* rows,
                     int64_t count,
                     int32_t* acc) {
  for (; count > 0; count -= kTileRows, rows += kTileRows, acc += kTileRows * kColumnsPerPanel)
    avx512::kVectorTiles[std::min(count, kTileRows) - 1](panel.groups, rows, acc);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
