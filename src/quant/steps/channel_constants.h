// SPDX-License-Identifier: Apache-2.0
// The constants of products that lie along the channels of what they read or make: what steps that
// move factors between layers multiply.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quant/steps/stepped_graph.h"

namespace octet {

/// An input of a node that is a constant, and the axis of it that the channels are on.
struct ChannelConstant {
  NodeId node;
  size_t input = 0;
  int64_t axis = 0;
};

/// An f32 constant there, else null.
const Tensor* f32_constant(const Graph& graph, const Node& node, size_t input);
/// The axis that holds the channels of what a product reads and makes: 1 for Conv, else the last
/// (-1).
int64_t channel_axis(const Node& product);
/// The axis of a product's weights that its output channels are on, given the one of its inputs.
int64_t output_axis(const Node& product, int64_t input_axis);

/// The weights of a Conv, Gemm or MatMul along the channels of its input 0; nullopt where it has
/// none of its own for each channel.
std::optional<ChannelConstant> input_weights(const Graph& graph, const Node& product);
/// The weights of a Conv, Gemm or MatMul along the channels of its output, and its bias where there
/// is one; empty where one of the two is no constant of that many channels.
std::vector<ChannelConstant>
output_constants(const Graph& graph, const Node& product, int64_t channels);

/// Multiplies index c of the axis by factors[c]. Where others read the constant, the node gets one
/// of its own, whose name ends in `suffix`.
void multiply(SteppedGraph& stepped,
              const ChannelConstant& at,
              std::span<const double> factors,
              const std::string& suffix);

} // namespace octet
