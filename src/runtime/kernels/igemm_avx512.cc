// SPDX-License-Identifier: Apache-2.0
// Sums of an 8 x 16 tile with AVX-512 (F, BW, DQ, VL), by the same steps as igemm_avx2.cc.
// Contract: igemm_tile.h.
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

inline __m512i load(const void* p) {
  return _mm512_loadu_si512(p);
}

// 4 bytes at p in every lane.
inline __m512i broadcast(const void* p) {
  int bits = 0;
  __builtin_memcpy(&bits, p, 4);
  return _mm512_set1_epi32(bits);
}

inline __m512i add_paired(
    __m512i acc, const uint8_t* x0, const uint8_t* x1, __m512i w0, __m512i w1, __m512i ones) {
  const __m512i sum = _mm512_add_epi16(_mm512_maddubs_epi16(broadcast(x0), w0),
                                       _mm512_maddubs_epi16(broadcast(x1), w1));
  return _mm512_add_epi32(acc, _mm512_madd_epi16(sum, ones));
}

inline __m512i add_plain(__m512i acc, const uint8_t* x, __m512i w, __m512i ones) {
  return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(broadcast(x), w), ones));
}

inline __m512i add_wide(__m512i acc, const uint8_t* x, __m512i w0, __m512i w1, __m512i even) {
  const __m512i v = broadcast(x);
  acc = _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_and_si512(v, even), w0));
  return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_srli_epi16(v, 8), w1));
}

template <int kRows>
void dot(const PackedPanel& panel, const uint8_t* const* rows, int32_t* acc) {
  const __m512i ones = _mm512_set1_epi16(1);
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
  const int8_t* w = panel.groups.data;
  const int32_t* offset = panel.groups.offsets;
  for (int32_t g = 0; g < panel.groups.paired; g += 2) {
    const __m512i w0 = load(w);
    const __m512i w1 = load(w + 64);
    const int64_t o0 = offset[0];
    const int64_t o1 = offset[1];
    s0 = add_paired(s0, r0 + o0, r0 + o1, w0, w1, ones);
    if constexpr (kRows > 1) s1 = add_paired(s1, r1 + o0, r1 + o1, w0, w1, ones);
    if constexpr (kRows > 2) s2 = add_paired(s2, r2 + o0, r2 + o1, w0, w1, ones);
    if constexpr (kRows > 3) s3 = add_paired(s3, r3 + o0, r3 + o1, w0, w1, ones);
    if constexpr (kRows > 4) s4 = add_paired(s4, r4 + o0, r4 + o1, w0, w1, ones);
    if constexpr (kRows > 5) s5 = add_paired(s5, r5 + o0, r5 + o1, w0, w1, ones);
    if constexpr (kRows > 6) s6 = add_paired(s6, r6 + o0, r6 + o1, w0, w1, ones);
    if constexpr (kRows > 7) s7 = add_paired(s7, r7 + o0, r7 + o1, w0, w1, ones);
    w += 128;
    offset += 2;
  }
  for (int32_t g = 0; g < panel.groups.plain; ++g) {
    const __m512i ws = load(w);
    const int64_t o = *offset++;
    s0 = add_plain(s0, r0 + o, ws, ones);
    if constexpr (kRows > 1) s1 = add_plain(s1, r1 + o, ws, ones);
    if constexpr (kRows > 2) s2 = add_plain(s2, r2 + o, ws, ones);
    if constexpr (kRows > 3) s3 = add_plain(s3, r3 + o, ws, ones);
    if constexpr (kRows > 4) s4 = add_plain(s4, r4 + o, ws, ones);
    if constexpr (kRows > 5) s5 = add_plain(s5, r5 + o, ws, ones);
    if constexpr (kRows > 6) s6 = add_plain(s6, r6 + o, ws, ones);
    if constexpr (kRows > 7) s7 = add_plain(s7, r7 + o, ws, ones);
    w += 64;
  }
  const __m512i even = _mm512_set1_epi16(0xFF);
  for (int32_t g = 0; g < panel.groups.wide; ++g) {
    const __m512i w0 = load(w);
    const __m512i w1 = load(w + 64);
    const int64_t o = *offset++;
    s0 = add_wide(s0, r0 + o, w0, w1, even);
    if constexpr (kRows > 1) s1 = add_wide(s1, r1 + o, w0, w1, even);
    if constexpr (kRows > 2) s2 = add_wide(s2, r2 + o, w0, w1, even);
    if constexpr (kRows > 3) s3 = add_wide(s3, r3 + o, w0, w1, even);
    if constexpr (kRows > 4) s4 = add_wide(s4, r4 + o, w0, w1, even);
    if constexpr (kRows > 5) s5 = add_wide(s5, r5 + o, w0, w1, even);
    if constexpr (kRows > 6) s6 = add_wide(s6, r6 + o, w0, w1, even);
    if constexpr (kRows > 7) s7 = add_wide(s7, r7 + o, w0, w1, even);
    w += 128;
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
} // namespace avx512

void dot_tile_avx512(const PackedPanel& panel,
                     const uint8_t* const* rows,
                     int64_t count,
                     int32_t* acc) {
  for (; count >= 8; count -= 8, rows += 8, acc += 8 * kColumnsPerPanel) {
    avx512::dot<8>(panel, rows, acc);
  }
  avx512::dot_tail(panel, rows, count, acc);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
