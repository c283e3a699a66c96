// SPDX-License-Identifier: Apache-2.0
// What Attention, QAttention and QOrderedAttention (com.microsoft) share: the heads behind one
// projection of x: [B, S, D] by weights [D, Q + K + V]. y: [B, S, V], softmax(q k^T scale + mask) v
// for each head. Masks (int32): [B] lengths, [2 B] ends then starts, [B, S] or [B, S, S] with 1
// where a key counts. Earlier keys and values (past, present) are refused.
#pragma once

#include "ops/shared/validate.h"

namespace octet::ms {

struct SelfAttention {
  int64_t heads = 1;
  int64_t query = 0, value = 0; ///< columns of q (and of k) and of v
  double scale = 0;             ///< 0: 1 / sqrt(size of a head)
  double filter = -10000;       ///< added to the score of a key that does not count
  bool causal = false;
  /// Scales of the int8 codes to which q k^T and the softmax are rounded. 0: not rounded.
  double score_step = 0, softmax_step = 0;
};

/// Inputs x, weights and bias at 0, 1 and 2; mask and past where given.
Result<std::vector<OutputInfo>>
infer_self_attention(const InferContext& ctx, size_t mask, size_t past, DType type);
/// For inputs that passed.
Result<SelfAttention> parse_self_attention(const Node& node, int64_t columns);
/// `projected`: [B, S, Q + K + V] with the bias. `mask` may be empty(); `bias` (additive, broadcast
/// to [B, heads, S, S]) too.
Result<std::vector<double>> attend(const SelfAttention& a,
                                   std::span<const int64_t> x_shape,
                                   std::span<const double> projected,
                                   const Tensor& mask,
                                   const Tensor& bias);

} // namespace octet::ms
