// SPDX-License-Identifier: Apache-2.0
// Edits of a graph in place that several passes want, beyond those that Graph itself has.
#pragma once

#include "octet/graph.h"

namespace octet {

/// Removes a node; `result` takes the uses and the name of its first output, and its type unless
/// it is a constant, which has one.
void replace_node(Graph& graph, NodeId node, ValueId result);

} // namespace octet
