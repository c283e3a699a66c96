// SPDX-License-Identifier: Apache-2.0
// Chains of four rows side by side keep the multiplier busy. Scalar instructions: rows are as short
// as a vector, and lie apart.
#include "runtime/kernels/small_product.h"

#include "core/numerics/round.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace octet::kernels {
namespace {

inline float finished(float sum, const FloatEpilogue& e, int64_t column) {
  if (e.bias != nullptr) sum += e.bias[column];
  return numerics::clamp_keep_nan(sum, e.lo, e.hi);
}

template <int kRows>
inline void rows_times_column(
    const BatchedSgemmArgs& a, const float* x, const float* w, int64_t column, float* y) {
  float sum[kRows] = {};
  for (int64_t k = 0; k < a.weights.k; ++k) {
    const float v = w[k * a.weights.k_stride];
    for (int r = 0; r < kRows; ++r)
      sum[r] = __builtin_fmaf(x[r * a.x_stride + k], v, sum[r]);
  }
  for (int r = 0; r < kRows; ++r)
    y[r * a.y_stride] = finished(sum[r], a.epilogue, column);
}

void products(const BatchedSgemmArgs& a, int64_t begin, int64_t end) {
  constexpr int kRows = 4;
  for (int64_t i = begin; i < end; ++i) {
    const float* x = a.x + a.x_offsets[i];
    const float* w = a.weights.w + a.w_offsets[i];
    float* y = a.y + a.y_offsets[i];
    int64_t row = 0;
    for (; row + kRows <= a.m; row += kRows)
      for (int64_t c = 0; c < a.weights.n; ++c)
        rows_times_column<kRows>(a, x + row * a.x_stride, w + c * a.weights.n_stride, c,
                                 y + row * a.y_stride + c);
    for (; row < a.m; ++row)
      for (int64_t c = 0; c < a.weights.n; ++c)
        rows_times_column<1>(a, x + row * a.x_stride, w + c * a.weights.n_stride, c,
                             y + row * a.y_stride + c);
  }
}

} // namespace
} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace octet::kernels {

SmallProductFn small_product(Isa isa) {
#if defined(__x86_64__)
  if (isa.has(Isa::kAvx2)) return products;
#endif
  static_cast<void>(isa);
  return nullptr;
}

} // namespace octet::kernels
