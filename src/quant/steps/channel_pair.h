// SPDX-License-Identifier: Apache-2.0
// Two products with nothing between them but what a factor above 0 for each channel passes.
//   op(x, V, b) ─▶ [Add] ─▶ Relu, LeakyRelu, PRelu, Clip(0), pools, Reshape, ... ─▶ op(., W)
#pragma once

#include <vector>

#include "quant/steps/channel_constants.h"

namespace octet {

struct ChannelPair {
  NodeId first, second;
  int64_t channels = 0; ///< that the first makes
  int64_t inner = 1;    ///< elements of the second's input that lie behind each other in a channel
  std::vector<ChannelConstant> makers; ///< the first's weights, then what is added to its product
  ChannelConstant consumer;            ///< the second's weights
  /// Whether c taken from the first's bias can be added to the second's: what is between passes
  /// x - c on as its result less c wherever x is at least c, no zeros are padded, and both biases
  /// are there.
  bool absorbs = false;
};

/// The pair that a Conv, Gemm or MatMul begins. Errors say what is in the way.
Result<ChannelPair> channel_pair(const SteppedGraph& stepped, NodeId first);

/// `of` for each channel, as factors of the second's input.
std::vector<double> along_consumer(const ChannelPair& pair, std::span<const double> of);

} // namespace octet
