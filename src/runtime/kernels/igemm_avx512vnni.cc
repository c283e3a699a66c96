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
void dot(const PackedPanel& panel, const uint8_t* x, int64_t stride, int32_t* acc) {
  __m512i s0 = _mm512_setzero_si512();
  __m512i s1 = _mm512_setzero_si512();
  __m512i s2 = _mm512_setzero_si512();
  __m512i s3 = _mm512_setzero_si512();
  __m512i s4 = _mm512_setzero_si512();
  __m512i s5 = _mm512_setzero_si512();
  __m512i s6 = _mm512_setzero_si512();
  __m512i s7 = _mm512_setzero_si512();
  const int8_t* w = panel.data;
  const int32_t* offset = panel.offsets;
  for (int32_t g = 0; g < panel.plain; ++g) {
    const __m512i ws = load(w);
    const uint8_t* xs = x + *offset++;
    s0 = add_plain(s0, xs, ws);
    if constexpr (kRows > 1) s1 = add_plain(s1, xs + stride, ws);
    if constexpr (kRows > 2) s2 = add_plain(s2, xs + 2 * stride, ws);
    if constexpr (kRows > 3) s3 = add_plain(s3, xs + 3 * stride, ws);
    if constexpr (kRows > 4) s4 = add_plain(s4, xs + 4 * stride, ws);
    if constexpr (kRows > 5) s5 = add_plain(s5, xs + 5 * stride, ws);
    if constexpr (kRows > 6) s6 = add_plain(s6, xs + 6 * stride, ws);
    if constexpr (kRows > 7) s7 = add_plain(s7, xs + 7 * stride, ws);
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

} // namespace

void dot_tile_avx512vnni(
    const PackedPanel& panel, const uint8_t* x, int64_t stride, int64_t rows, int32_t* acc) {
  switch (rows) {
  case 1:
    return dot<1>(panel, x, stride, acc);
  case 2:
    return dot<2>(panel, x, stride, acc);
  case 3:
    return dot<3>(panel, x, stride, acc);
  case 4:
    return dot<4>(panel, x, stride, acc);
  case 5:
    return dot<5>(panel, x, stride, acc);
  case 6:
    return dot<6>(panel, x, stride, acc);
  case 7:
    return dot<7>(panel, x, stride, acc);
  default:
    return dot<8>(panel, x, stride, acc);
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
