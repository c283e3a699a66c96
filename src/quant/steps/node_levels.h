// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph that stand side by side: what is measured behind one level is not changed by the
// others of it.
#pragma once

#include <set>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// The nodes, in topological order, by how many of them are before each on the longest way to it.
/// Errors: a graph with a cycle.
Result<std::vector<std::vector<NodeId>>> levels_of(const Graph& graph,
                                                   const std::set<NodeId>& nodes);

} // namespace octet
