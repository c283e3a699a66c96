// SPDX-License-Identifier: Apache-2.0
// Packing of weights whose sums run along memory: squares of 4 x 4 are turned in registers, 8 x 8 at a time, so that
// rows a power of two apart do not push each other out of the cache.
#include "runtime/kernels/sgemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet::kernels {
namespace {

constexpr int64_t kSquare = 8;

#if defined(__x86_64__)
// Two squares of 4 x 4 of SSE, which every x86-64 has.
void turn_four(const float* from, int64_t stride, float* to, int64_t pitch) {
  __m128 a = _mm_loadu_ps(from);
  __m128 b = _mm_loadu_ps(from + stride);
  __m128 c = _mm_loadu_ps(from + 2 * stride);
  __m128 d = _mm_loadu_ps(from + 3 * stride);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + pitch, b);
  _mm_storeu_ps(to + 2 * pitch, c);
  _mm_storeu_ps(to + 3 * pitch, d);
}
void turn_square(const float* from, int64_t stride, float* to, int64_t pitch) {
  for (int64_t c = 0; c < kSquare; c += 4) {
    for (int64_t i = 0; i < kSquare; i += 4) {
      turn_four(from + c * stride + i, stride, to + i * pitch + c, pitch);
    }
  }
}
#else
void turn_square(const float* from, int64_t stride, float* to, int64_t pitch) {
  for (int64_t c = 0; c < kSquare; ++c) {
    for (int64_t i = 0; i < kSquare; ++i) {
      to[i * pitch + c] = from[c * stride + i];
    }
  }
}
#endif

} // namespace

void turn_columns(
    const float* from, int64_t stride, int64_t columns, int64_t k, int64_t width, float* out) {
  const int64_t whole_columns = columns / kSquare * kSquare;
  const int64_t whole_k = k / kSquare * kSquare;
  for (int64_t i = 0; i < whole_k; i += kSquare) {
    for (int64_t c = 0; c < whole_columns; c += kSquare) {
      turn_square(from + c * stride + i, stride, out + i * width + c, width);
    }
  }
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t c = i < whole_k ? whole_columns : 0; c < columns; ++c) {
      out[i * width + c] = from[c * stride + i];
    }
  }
}

} // namespace octet::kernels
