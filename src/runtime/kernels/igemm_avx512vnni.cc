// SPDX-License-Identifier: Apache-2.0
// Sums with AVX-512 VNNI: vpdpbusd adds four u8 x s8 products to int32 without saturation, so every
// group is plain and panels are in one order. Tiles of 8 rows x 2 panels share each broadcast of x
// between two products; one or two rows take 4 panels, which keeps as many sums in flight. Half
// panels use 256-bit vectors. Contract: igemm_tile.h. Accumulators are named variables: in an array
// they would be spilled.
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

inline int four_bytes(const void* p) {
  int bits = 0;
  __builtin_memcpy(&bits, p, 4);
  return bits;
}

// A row or a group of weights of up to four panels.
struct Panels {
  __m512i a, b, c, d;
};

template <int kPanels>
inline Panels load_weights(const int8_t* w, int64_t step) {
  Panels out;
  out.a = out.b = out.c = out.d = _mm512_loadu_si512(w);
  if constexpr (kPanels > 1) out.b = _mm512_loadu_si512(w + step);
  if constexpr (kPanels > 2) out.c = _mm512_loadu_si512(w + 2 * step);
  if constexpr (kPanels > 3) out.d = _mm512_loadu_si512(w + 3 * step);
  return out;
}

template <int kPanels>
inline void add(Panels& sum, const uint8_t* x, const Panels& w) {
  const __m512i v = _mm512_set1_epi32(four_bytes(x));
  sum.a = _mm512_dpbusd_epi32(sum.a, v, w.a);
  if constexpr (kPanels > 1) sum.b = _mm512_dpbusd_epi32(sum.b, v, w.b);
  if constexpr (kPanels > 2) sum.c = _mm512_dpbusd_epi32(sum.c, v, w.c);
  if constexpr (kPanels > 3) sum.d = _mm512_dpbusd_epi32(sum.d, v, w.d);
}

template <int kPanels>
inline void store(const Panels& sum, int32_t* acc, int64_t acc_step) {
  _mm512_storeu_si512(acc, sum.a);
  if constexpr (kPanels > 1) _mm512_storeu_si512(acc + acc_step, sum.b);
  if constexpr (kPanels > 2) _mm512_storeu_si512(acc + 2 * acc_step, sum.c);
  if constexpr (kPanels > 3) _mm512_storeu_si512(acc + 3 * acc_step, sum.d);
}

// `step` bytes of weights and `acc_step` sums lie between panels.
template <int kRows, int kPanels>
void dot(const PackedPanel& panel,
         int64_t step,
         const uint8_t* const* rows,
         int32_t* acc,
         int64_t acc_step) {
  const __m512i zero = _mm512_setzero_si512();
  const Panels zeros{zero, zero, zero, zero};
  Panels s0 = zeros;
  Panels s1 = zeros;
  Panels s2 = zeros;
  Panels s3 = zeros;
  Panels s4 = zeros;
  Panels s5 = zeros;
  Panels s6 = zeros;
  Panels s7 = zeros;
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
  const int32_t* end = offset + panel.plain;
  for (; offset != end; ++offset, w += 64) {
    const Panels ws = load_weights<kPanels>(w, step);
    const int64_t o = *offset;
    add<kPanels>(s0, r0 + o, ws);
    if constexpr (kRows > 1) add<kPanels>(s1, r1 + o, ws);
    if constexpr (kRows > 2) add<kPanels>(s2, r2 + o, ws);
    if constexpr (kRows > 3) add<kPanels>(s3, r3 + o, ws);
    if constexpr (kRows > 4) add<kPanels>(s4, r4 + o, ws);
    if constexpr (kRows > 5) add<kPanels>(s5, r5 + o, ws);
    if constexpr (kRows > 6) add<kPanels>(s6, r6 + o, ws);
    if constexpr (kRows > 7) add<kPanels>(s7, r7 + o, ws);
  }
  store<kPanels>(s0, acc, acc_step);
  if constexpr (kRows > 1) store<kPanels>(s1, acc + 16, acc_step);
  if constexpr (kRows > 2) store<kPanels>(s2, acc + 32, acc_step);
  if constexpr (kRows > 3) store<kPanels>(s3, acc + 48, acc_step);
  if constexpr (kRows > 4) store<kPanels>(s4, acc + 64, acc_step);
  if constexpr (kRows > 5) store<kPanels>(s5, acc + 80, acc_step);
  if constexpr (kRows > 6) store<kPanels>(s6, acc + 96, acc_step);
  if constexpr (kRows > 7) store<kPanels>(s7, acc + 112, acc_step);
}

inline __m256i add_half(__m256i sum, const uint8_t* x, __m256i w) {
  return _mm256_dpbusd_epi32(sum, _mm256_set1_epi32(four_bytes(x)), w);
}

inline void store_half(__m256i sum, int32_t* acc) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc), sum);
}

// The same of a half panel, whose groups are as far apart as those of whole ones.
template <int kRows>
void dot_half(const PackedPanel& panel,
              int64_t /*step*/,
              const uint8_t* const* rows,
              int32_t* acc,
              int64_t /*acc_step*/) {
  __m256i s0 = _mm256_setzero_si256();
  __m256i s1 = s0;
  __m256i s2 = s0;
  __m256i s3 = s0;
  __m256i s4 = s0;
  __m256i s5 = s0;
  __m256i s6 = s0;
  __m256i s7 = s0;
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
  const int32_t* end = offset + panel.plain;
  for (; offset != end; ++offset, w += 64) {
    const __m256i ws = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
    const int64_t o = *offset;
    s0 = add_half(s0, r0 + o, ws);
    if constexpr (kRows > 1) s1 = add_half(s1, r1 + o, ws);
    if constexpr (kRows > 2) s2 = add_half(s2, r2 + o, ws);
    if constexpr (kRows > 3) s3 = add_half(s3, r3 + o, ws);
    if constexpr (kRows > 4) s4 = add_half(s4, r4 + o, ws);
    if constexpr (kRows > 5) s5 = add_half(s5, r5 + o, ws);
    if constexpr (kRows > 6) s6 = add_half(s6, r6 + o, ws);
    if constexpr (kRows > 7) s7 = add_half(s7, r7 + o, ws);
  }
  store_half(s0, acc);
  if constexpr (kRows > 1) store_half(s1, acc + 16);
  if constexpr (kRows > 2) store_half(s2, acc + 32);
  if constexpr (kRows > 3) store_half(s3, acc + 48);
  if constexpr (kRows > 4) store_half(s4, acc + 64);
  if constexpr (kRows > 5) store_half(s5, acc + 80);
  if constexpr (kRows > 6) store_half(s6, acc + 96);
  if constexpr (kRows > 7) store_half(s7, acc + 112);
}

using TileFn = void (*)(const PackedPanel&, int64_t, const uint8_t* const*, int32_t*, int64_t);

// By rows less 1.
constexpr TileFn kHalf[8] = {dot_half<1>, dot_half<2>, dot_half<3>, dot_half<4>,
                             dot_half<5>, dot_half<6>, dot_half<7>, dot_half<8>};
constexpr TileFn kOne[8] = {dot<1, 1>, dot<2, 1>, dot<3, 1>, dot<4, 1>,
                            dot<5, 1>, dot<6, 1>, dot<7, 1>, dot<8, 1>};
constexpr TileFn kTwo[8] = {dot<1, 2>, dot<2, 2>, dot<3, 2>, dot<4, 2>,
                            dot<5, 2>, dot<6, 2>, dot<7, 2>, dot<8, 2>};
constexpr TileFn kFour[kFewRows] = {dot<1, 4>, dot<2, 4>};

void dot_rows(const TileFn* tiles,
              const PackedPanel& panel,
              int64_t step,
              const uint8_t* const* rows,
              int64_t count,
              int32_t* acc,
              int64_t acc_step) {
  while (count > 0) {
    // The rest in two equal parts: few sums in flight would wait for each other.
    const int64_t some = count >= 16 ? 8 : count > 8 ? (count + 1) / 2 : count;
    tiles[some - 1](panel, step, rows, acc, acc_step);
    rows += some;
    count -= some;
    acc += some * kColumnsPerPanel;
  }
}

} // namespace
} // namespace avx512vnni

void dot_tile_avx512vnni(const PackedPanel& panel,
                         const uint8_t* const* rows,
                         int64_t count,
                         int32_t* acc) {
  const avx512vnni::TileFn* tiles = panel.half ? avx512vnni::kHalf : avx512vnni::kOne;
  avx512vnni::dot_rows(tiles, panel, 0, rows, count, acc, 0);
}

void dot_panels_avx512vnni(const PackedPanel* panels,
                           int64_t panel_count,
                           const uint8_t* const* rows,
                           int64_t count,
                           int32_t* acc,
                           int64_t acc_step) {
  const int64_t step = int64_t{64} * panels->plain;
  int64_t p = 0;
  if (panel_count == 4 && count <= kFewRows) {
    return avx512vnni::kFour[count - 1](panels[0], step, rows, acc, acc_step);
  }
  for (; p + 2 <= panel_count; p += 2) {
    avx512vnni::dot_rows(avx512vnni::kTwo, panels[p], step, rows, count, acc + p * acc_step,
                         acc_step);
  }
  if (p < panel_count) dot_tile_avx512vnni(panels[p], rows, count, acc + p * acc_step);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
