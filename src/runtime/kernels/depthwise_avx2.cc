// SPDX-License-Identifier: Apache-2.0
// Depthwise sums with AVX2: two taps of 32 elements are interleaved to pairs of int16, which
// vpmaddwd multiplies and adds exactly. Packing the results undoes the interleaving. Also used with
// AVX-512. Contract: depthwise.h.
#include "runtime/kernels/depthwise.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace octet::kernels {
namespace depthwise_avx2 {
namespace {

constexpr int64_t kBlock = kDepthwiseAvx2.elements;

struct Sums {
  __m256i a, b, c, d;
};

inline __m256i load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

inline __m256i add(__m256i sum, __m256i pairs, const uint8_t* w) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, load(w)));
}

// The sums of the block that starts `at` elements into the run. A last single tap meets a weight of
// 0 beside its own.
inline Sums sum_block(const DepthwiseRun& run, int64_t at, const uint8_t* w) {
  const __m256i zero = _mm256_setzero_si256();
  Sums sum{zero, zero, zero, zero};
  for (int64_t t = 0; t < run.tap_count; t += 2, w += 4 * kBlock) {
    const __m256i x0 = load(run.taps[t] + at);
    const __m256i x1 = t + 1 < run.tap_count ? load(run.taps[t + 1] + at) : zero;
    const __m256i low = _mm256_unpacklo_epi8(x0, x1);
    const __m256i high = _mm256_unpackhi_epi8(x0, x1);
    sum.a = add(sum.a, _mm256_unpacklo_epi8(low, zero), w);
    sum.b = add(sum.b, _mm256_unpackhi_epi8(low, zero), w + 32);
    sum.c = add(sum.c, _mm256_unpacklo_epi8(high, zero), w + 64);
    sum.d = add(sum.d, _mm256_unpackhi_epi8(high, zero), w + 96);
  }
  return sum;
}

inline __m256i with(__m256i sum, const int32_t* init) {
  return _mm256_add_epi32(sum, load(init));
}

inline __m256i scaled(__m256i sum, const DepthwiseRun& run, int64_t at) {
  const __m256 v = _mm256_cvtepi32_ps(with(sum, run.init + at));
  return _mm256_cvtps_epi32(
      _mm256_fmadd_ps(v, _mm256_loadu_ps(run.multiplier + at), _mm256_loadu_ps(run.bias + at)));
}

// Lane l of the k-th vector holds elements 16 l + 4 k on.
inline void store_sums(const Sums& s, const int32_t* init, int64_t count, int32_t* y) {
  alignas(32) int32_t part[kBlock];
  auto* to = reinterpret_cast<__m256i*>(part);
  _mm256_store_si256(to, with(s.a, init));
  _mm256_store_si256(to + 1, with(s.b, init + 8));
  _mm256_store_si256(to + 2, with(s.c, init + 16));
  _mm256_store_si256(to + 3, with(s.d, init + 24));
  for (int64_t i = 0; i < count; ++i)
    y[i] = part[i % 16 / 4 * 8 + i / 16 * 4 + i % 4];
}

void run_sums(const DepthwiseRun& run) {
  const int64_t groups = (run.tap_count + 1) / 2;
  int64_t block = 0;
  for (int64_t at = 0; at < run.count; at += kBlock) {
    const Sums s = sum_block(run, at, run.weights + block * groups * 4 * kBlock);
    const int64_t count = run.count - at < kBlock ? run.count - at : kBlock;
    store_sums(s, run.init + block * kBlock, count, static_cast<int32_t*>(run.y) + at);
    if (++block == run.blocks) block = 0;
  }
}

template <bool kSigned>
void run_codes(const DepthwiseRun& run) {
  const Epilogue& e = *run.epilogue;
  const __m256i zero_point = _mm256_set1_epi16(static_cast<int16_t>(e.zero_point));
  const __m256i lo = _mm256_set1_epi8(static_cast<char>(e.lo));
  const __m256i hi = _mm256_set1_epi8(static_cast<char>(e.hi));
  const int64_t groups = (run.tap_count + 1) / 2;
  auto* y = static_cast<uint8_t*>(run.y);
  int64_t block = 0;
  for (int64_t at = 0; at < run.count; at += kBlock) {
    const Sums s = sum_block(run, at, run.weights + block * groups * 4 * kBlock);
    const int64_t from = block * kBlock;
    const __m256i ab = _mm256_packs_epi32(scaled(s.a, run, from), scaled(s.b, run, from + 8));
    const __m256i cd = _mm256_packs_epi32(scaled(s.c, run, from + 16), scaled(s.d, run, from + 24));
    const __m256i first = _mm256_adds_epi16(ab, zero_point);
    const __m256i second = _mm256_adds_epi16(cd, zero_point);
    __m256i codes;
    if constexpr (kSigned)
      codes = _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(first, second), lo), hi);
    else
      codes = _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(first, second), lo), hi);
    if (run.count - at >= kBlock) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + at), codes);
    } else {
      alignas(32) uint8_t part[kBlock];
      _mm256_store_si256(reinterpret_cast<__m256i*>(part), codes);
      __builtin_memcpy(y + at, part, static_cast<size_t>(run.count - at));
    }
    if (++block == run.blocks) block = 0;
  }
}

} // namespace
} // namespace depthwise_avx2

void depthwise_run_avx2(const DepthwiseRun& run) {
  if (run.epilogue == nullptr) return depthwise_avx2::run_sums(run);
  if (run.epilogue->type == YType::kInt8) return depthwise_avx2::run_codes<true>(run);
  depthwise_avx2::run_codes<false>(run);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
