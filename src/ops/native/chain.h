// SPDX-License-Identifier: Apache-2.0
// The float products of octet.native: each output is one chain of fused multiply-adds from 0, k in
// order, the bias added last. docs/numerics.md "Float layers between them".
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/op.h"

namespace octet::native {

/// `acc` continued over k products.
inline float fma_chain(
    float acc, const float* x, int64_t x_stride, const float* w, int64_t w_stride, int64_t k) {
  for (int64_t i = 0; i < k; ++i)
    acc = std::fma(x[i * x_stride], w[i * w_stride], acc);
  return acc;
}

/// Elements of the inputs x, w and bias (empty where it is omitted), and the attributes min and max.
struct ChainOperands {
  std::vector<float> x, w, bias;
  float min, max;

  /// clamp(chain + bias, min, max) of an output channel.
  float finish(float chain, int64_t channel) const;
};
/// y [.., n] of rows x [.., k] and w [n, k].
void rows_chain(const ChainOperands& operands, int64_t n, int64_t k, std::span<float> y);
/// Of a node whose inputs passed check_chain_operands.
Result<ChainOperands> chain_operands(const EvalContext& c);
/// Errors: inputs other than x, w and perhaps a bias, all f32.
Status check_chain_operands(const InferContext& c);

} // namespace octet::native
