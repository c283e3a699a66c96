// SPDX-License-Identifier: Apache-2.0
// Depthwise sums with AVX-512 VNNI: four taps of 64 elements are interleaved to groups of 4 bytes,
// which vpdpbusd multiplies and adds exactly. Packing the results undoes the interleaving.
// Contract: depthwise.h.
#include "runtime/kernels/depthwise.h"

#if defined(__x86_64__)
// GCC 12's own intrinsics start from vectors that it takes for uninitialized.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
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
namespace depthwise_vnni {
namespace {

constexpr int64_t kBlock = kDepthwiseAvx512Vnni.elements;

struct Sums {
  __m512i a, b, c, d;
};

inline __m512i load(const void* p) {
  return _mm512_loadu_si512(p);
}

inline void
add(Sums& sum, __m512i low01, __m512i high01, __m512i low23, __m512i high23, const uint8_t* w) {
  sum.a = _mm512_dpbusd_epi32(sum.a, _mm512_unpacklo_epi16(low01, low23), load(w));
  sum.b = _mm512_dpbusd_epi32(sum.b, _mm512_unpackhi_epi16(low01, low23), load(w + 64));
  sum.c = _mm512_dpbusd_epi32(sum.c, _mm512_unpacklo_epi16(high01, high23), load(w + 128));
  sum.d = _mm512_dpbusd_epi32(sum.d, _mm512_unpackhi_epi16(high01, high23), load(w + 192));
}

// The sums of the block that starts `at` elements into the run. Taps that fill a group up meet
// weights of 0.
inline Sums sum_block(const DepthwiseRun& run, int64_t at, const uint8_t* w) {
  const __m512i zero = _mm512_setzero_si512();
  Sums sum{zero, zero, zero, zero};
  const uint8_t* const* taps = run.taps;
  int64_t t = 0;
  for (; t + 3 <= run.tap_count; t += 4, w += 4 * kBlock) {
    const __m512i x0 = load(taps[t] + at);
    const __m512i x1 = load(taps[t + 1] + at);
    const __m512i x2 = load(taps[t + 2] + at);
    const __m512i x3 = load(taps[t + 3 < run.tap_count ? t + 3 : t + 2] + at);
    add(sum, _mm512_unpacklo_epi8(x0, x1), _mm512_unpackhi_epi8(x0, x1),
        _mm512_unpacklo_epi8(x2, x3), _mm512_unpackhi_epi8(x2, x3), w);
  }
  if (t < run.tap_count) {
    const __m512i x0 = load(taps[t] + at);
    const __m512i x1 = load(taps[run.tap_count - 1] + at);
    const __m512i low = _mm512_unpacklo_epi8(x0, x1);
    const __m512i high = _mm512_unpackhi_epi8(x0, x1);
    add(sum, low, high, low, high, w);
  }
  return sum;
}

inline __m512i with(__m512i sum, const int32_t* init) {
  return _mm512_add_epi32(sum, load(init));
}

inline __m512i scaled(__m512i sum, const DepthwiseRun& run, int64_t at) {
  const __m512 v = _mm512_cvtepi32_ps(with(sum, run.init + at));
  return _mm512_cvtps_epi32(
      _mm512_fmadd_ps(v, _mm512_loadu_ps(run.multiplier + at), _mm512_loadu_ps(run.bias + at)));
}

// Lane l of the k-th vector holds elements 16 l + 4 k on.
inline void
store_sums(const Sums& s, const DepthwiseRun& run, int64_t constants, int64_t count, int32_t* y) {
  alignas(64) int32_t part[kBlock];
  _mm512_store_si512(part, with(s.a, run.init + constants));
  _mm512_store_si512(part + 16, with(s.b, run.init + constants + 16));
  _mm512_store_si512(part + 32, with(s.c, run.init + constants + 32));
  _mm512_store_si512(part + 48, with(s.d, run.init + constants + 48));
  for (int64_t i = 0; i < count; ++i)
    y[i] = part[i % 16 / 4 * 16 + i / 16 * 4 + i % 4];
}

void run_sums(const DepthwiseRun& run) {
  const int64_t groups = (run.tap_count + 3) / 4;
  int64_t block = 0;
  for (int64_t at = 0; at < run.count; at += kBlock) {
    const Sums s = sum_block(run, at, run.weights + block * groups * 4 * kBlock);
    const int64_t count = run.count - at < kBlock ? run.count - at : kBlock;
    store_sums(s, run, block * kBlock, count, static_cast<int32_t*>(run.y) + at);
    if (++block == run.blocks) block = 0;
  }
}

template <bool kSigned>
void run_codes(const DepthwiseRun& run) {
  const Epilogue& e = *run.epilogue;
  const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(e.zero_point));
  const __m512i lo = _mm512_set1_epi8(static_cast<char>(e.lo));
  const __m512i hi = _mm512_set1_epi8(static_cast<char>(e.hi));
  const int64_t groups = (run.tap_count + 3) / 4;
  auto* y = static_cast<uint8_t*>(run.y);
  int64_t block = 0;
  for (int64_t at = 0; at < run.count; at += kBlock) {
    const Sums s = sum_block(run, at, run.weights + block * groups * 4 * kBlock);
    const int64_t from = block * kBlock;
    const __m512i ab = _mm512_packs_epi32(scaled(s.a, run, from), scaled(s.b, run, from + 16));
    const __m512i cd = _mm512_packs_epi32(scaled(s.c, run, from + 32), scaled(s.d, run, from + 48));
    const __m512i first = _mm512_adds_epi16(ab, zero_point);
    const __m512i second = _mm512_adds_epi16(cd, zero_point);
    __m512i codes;
    if constexpr (kSigned)
      codes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(first, second), lo), hi);
    else
      codes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(first, second), lo), hi);
    const int64_t count = run.count - at;
    if (count >= kBlock)
      _mm512_storeu_si512(y + at, codes);
    else
      _mm512_mask_storeu_epi8(y + at, (uint64_t{1} << count) - 1, codes);
    if (++block == run.blocks) block = 0;
  }
}

} // namespace
} // namespace depthwise_vnni

void depthwise_run_avx512vnni(const DepthwiseRun& run) {
  if (run.epilogue == nullptr) return depthwise_vnni::run_sums(run);
  if (run.epilogue->type == YType::kInt8) return depthwise_vnni::run_codes<true>(run);
  depthwise_vnni::run_codes<false>(run);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
