// SPDX-License-Identifier: Apache-2.0
// Where the random numbers of an operator without a seed of its own start.
#pragma once

#include <cstdint>

#include "octet/graph.h"

namespace octet {

/// Follows from the node's name, or its first output's where it has none: every executor draws the
/// same numbers for a node, at each run and whatever else of the graph was rewritten.
uint64_t random_seed(const Graph& graph, const Node& node);

} // namespace octet
