// SPDX-License-Identifier: Apache-2.0
// Sums with vpdpbusd of 256 bits in the encoding of AVX-512. Contract: igemm_tile.h.
#include "runtime/kernels/igemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512vl,avx512vnni"))),              \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512vl,avx512vnni")
#endif

namespace octet::kernels {
namespace vnni256 {
namespace {

inline __m256i dpbusd(__m256i sum, __m256i x, __m256i w) {
  return _mm256_dpbusd_epi32(sum, x, w);
}

#include "runtime/kernels/igemm_vnni256-inl.h"

} // namespace
} // namespace vnni256

void dot_tile_vnni256(const PackedPanel& panel,
                      const uint8_t* const* rows,
                      int64_t count,
                      int32_t* acc) {
  vnni256::dot_rows(panel, rows, count, acc);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
