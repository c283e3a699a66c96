// SPDX-License-Identifier: Apache-2.0
// The parts that a network falls into: a residual block, half of an encoder layer, a depthwise
// convolution with the one behind it.
#pragma once

#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Nodes that hand on one value alone of all that depends on products before them. What depends on
/// none of them (an attention mask) may go past.
struct NetworkBlock {
  std::vector<NodeId> products; ///< in the order of the network
  std::vector<ValueId> inputs;  ///< no constants
  std::vector<ValueId> outputs; ///< one, or of the last block those of the graph that depend on it
};

/// The blocks of these products, in the order of the network, with at least `least` of them each
/// where there are so many: a part with fewer is joined with the one behind it, the last with the one
/// before. Errors: a graph with a cycle.
Result<std::vector<NetworkBlock>>
network_blocks(const Graph& graph, std::span<const NodeId> products, size_t least);

/// What lies between values of a graph, as a graph with these inputs and outputs. An input that is no
/// input of the graph gets another name.
Result<Graph>
part_between(const Graph& graph, std::span<const ValueId> inputs, std::span<const ValueId> outputs);

} // namespace octet
