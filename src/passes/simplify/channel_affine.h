// SPDX-License-Identifier: Apache-2.0
// What follows a product as a factor and an offset by output channel becomes part of its constants.
#pragma once

#include "passes/rewrite.h"

namespace octet {

/// y = factor * x + offset, by channel.
struct ChannelAffine {
  std::vector<double> factor, offset;
};

/// Conv, ConvTranspose or Gemm `product` with constants that do what `after` does to its result:
///   W' = factor W (by output channel),  B' = factor B + offset,
/// computed in double and rounded once. Nothing where somebody else reads the result or the weights, or where weights or
/// bias are no constants of float with one output channel for each of `affine`.
std::optional<Patch> fold_affine(const RuleContext& context,
                                 const Node& after,
                                 const Node& product,
                                 const ChannelAffine& affine,
                                 std::string why);

/// What BatchNormalization with constants does in inference; nullopt in training, or where somebody
/// reads its statistics.
std::optional<ChannelAffine> affine_of_norm(const RuleContext& context, const Node& norm);

/// One number for each of `channels` from a constant that broadcasts along `axis` of `rank` alone.
std::optional<Tensor> by_channel(const Tensor& t, int64_t rank, int64_t channels, int64_t axis = 1);

} // namespace octet
