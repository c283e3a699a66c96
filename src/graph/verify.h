// SPDX-License-Identifier: Apache-2.0
// The verifier: every promise that a Graph makes about itself, checked.
#pragma once

#include "octet/graph.h"

namespace octet {

/// How deep subgraphs nest: what walks them may recurse, whatever a file says.
inline constexpr int kMaxSubgraphDepth = 32;

/// Errors name the broken node or value: ids out of range, a value with two producers, a use of a
/// value that nothing produces, duplicate names, a cycle, captures that do not match the subgraph.
Status verify(const Graph& graph);

} // namespace octet
