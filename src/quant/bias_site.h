// SPDX-License-Identifier: Apache-2.0
// Where the bias of a product is that a correction may go into.
#pragma once

#include <optional>
#include <span>

#include "quant/placement.h"
#include "quant/steps/stepped_graph.h"

namespace octet {

struct BiasSite {
  NodeId node;       ///< the product, or the Add behind it
  size_t input = 2;  ///< of the node; a bias that is not there is made
  int64_t axis = -1; ///< of the node's output: its channels
  int64_t channels = 0;
};

/// Channels of a bias that may be changed at the input of a Conv, a Gemm or an Add; an error says why
/// there is none.
Result<int64_t> bias_channels(const Graph& graph, const Node& node, size_t input);

/// Of a Conv, a Gemm or a MatMul with an Add behind it; nullopt where there is no place for a bias, or
/// where one would leave the layer in float on the target.
std::optional<BiasSite>
bias_site(const Graph& graph, const Uses& uses, const Placement& placement, const Node& product);

/// Adds a number to each channel of the bias at an input of a node, which is then the node's own.
/// Errors: as bias_channels, another number of channels.
Status add_to_bias(SteppedGraph& stepped, NodeId node, size_t input, std::span<const float> delta);

} // namespace octet
