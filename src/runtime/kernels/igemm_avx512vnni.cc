// SPDX-License-Identifier: Apache-2.0
// Sums of an 8 x 16 tile with AVX-512 VNNI: vpdpbusd adds four u8 x s8 products to int32 without
// saturation, so every group is plain.
// Contract: igemm_tile.h.
#include "runtime/kernels/igemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))),             \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif

namespace octet::kernels {
namespace avx512vnni {
namespace {

inline __m512i load(const void* p) {
  return _mm512_loadu_si512(p);
}

// 4 bytes at p in every lane.
inline __m512i broadcast(const void* p) {
  int bits = 0;
  __builtin_memcpy(&bits, p, 4);
  return _mm512_set1_epi32(bits);
}

inline __m512i add_plain(__m512i acc, const uint8_t* x, __m512i w) {
  return _mm512_dpbusd_epi32(acc, broadcast(x), w);
}

template <int kRows>
void dot(const PackedPanel& panel, const uint8_t* const* rows, int32_t* acc) {
  __m512i s0 = _mm512_setzero_si512();
  __m512i s1 = _mm512_setzero_si512();
  __m512i s2 = _mm512_setzero_si512();
  __m512i s3 = _mm512_setzero_si512();
  __m512i s4 = _mm512_setzero_si512();
  __m512i s5 = _mm512_setzero_si512();
  __m512i s6 = _mm512_setzero_si512();
  __m512i s7 = _mm512_setzero_si512();
  const uint8_t* r0 = rows[0];
  const uint8_t* r1 = kRows > 1 ? rows[1] : r0;
  const uint8_t* r2 = kRows > 2 ? rows[2] : r0;
  const uint8_t* r3 = kRows > 3 ? rows[3] : r0;
  const uint8_t* r4 = kRows > 4 ? rows[4] : r0;
  const uint8_t* r5 = kRows > 5 ? rows[5] : r0;
  const uint8_t* r6 = kRows > 6 ? rows[6] : r0;
  const uint8_t* r7 = kRows > 7 ? rows[7] : r0;
  const int8_t* w = panel.data;
  const int32_t* offset = panel.offsets;
  for (int32_t g = 0; g < panel.plain; ++g) {
    const __m512i ws = load(w);
    const int64_t o = *offset++;
    s0 = add_plain(s0, r0 + o, ws);
    if constexpr (kRows > 1) s1 = add_plain(s1, r1 + o, ws);
    if constexpr (kRows > 2) s2 = add_plain(s2, r2 + o, ws);
    if constexpr (kRows > 3) s3 = add_plain(s3, r3 + o, ws);
    if constexpr (kRows > 4) s4 = add_plain(s4, r4 + o, ws);
    if constexpr (kRows > 5) s5 = add_plain(s5, r5 + o, ws);
    if constexpr (kRows > 6) s6 = add_plain(s6, r6 + o, ws);
    if constexpr (kRows > 7) s7 = add_plain(s7, r7 + o, ws);
    w += 64;
  }
  _mm512_storeu_si512(acc, s0);
  if constexpr (kRows > 1) _mm512_storeu_si512(acc + 16, s1);
  if constexpr (kRows > 2) _mm512_storeu_si512(acc + 32, s2);
  if constexpr (kRows > 3) _mm512_storeu_si512(acc + 48, s3);
  if constexpr (kRows > 4) _mm512_storeu_si512(acc + 64, s4);
  if constexpr (kRows > 5) _mm512_storeu_si512(acc + 80, s5);
  if constexpr (kRows > 6) _mm512_storeu_si512(acc + 96, s6);
  if constexpr (kRows > 7) _mm512_storeu_si512(acc + 112, s7);
}

void dot_tail(const PackedPanel& panel, const uint8_t* const* rows, int64_t count, int32_t* acc) {
  switch (count) {
  case 1:
    return dot<1>(panel, rows, acc);
  case 2:
    return dot<2>(panel, rows, acc);
  case 3:
    return dot<3>(panel, rows, acc);
  case 4:
    return dot<4>(panel, rows, acc);
  case 5:
    return dot<5>(panel, rows, acc);
  case 6:
    return dot<6>(panel, rows, acc);
  case 7:
    return dot<7>(panel, rows, acc);
  default:
    return;
  }
}

} // namespace
} // namespace avx512vnni

void dot_tile_avx512vnni(const PackedPanel& panel,
                         const uint8_t* const* rows,
                         int64_t count,
                         int32_t* acc) {
  for (; count >= 8; count -= 8, rows += 8, acc += 8 * kColumnsPerPanel) {
    avx512vnni::dot<8>(panel, rows, acc);
  }
  avx512vnni::dot_tail(panel, rows, count, acc);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
