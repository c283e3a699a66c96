// SPDX-License-Identifier: Apache-2.0
// The float product of octet.native: each output is one chain of fused multiply-adds from 0, k in
// order, the bias added last. docs/numerics.md "Float layers between them".
#pragma once

#include <cmath>
#include <cstdint>

namespace octet::native {

/// `acc` continued over k products.
inline float fma_chain(
    float acc, const float* x, int64_t x_stride, const float* w, int64_t w_stride, int64_t k) {
  for (int64_t i = 0; i < k; ++i)
    acc = std::fma(x[i * x_stride], w[i * w_stride], acc);
  return acc;
}

} // namespace octet::native
