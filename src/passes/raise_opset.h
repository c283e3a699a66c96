// SPDX-License-Identifier: Apache-2.0
// raise_opset: the same graph written for a later operator set, where that has an operator for a
// chain of this one.
#pragma once

#include <cstdint>

#include "octet/graph.h"

namespace octet {

/// Operator sets between which graphs are rewritten.
inline constexpr int64_t kOldestOpset = 13, kNewestOpset = 23;

/// A reduction whose axes are an input from opset 18 on, an attribute before.
bool is_reduction(const Node& node);

/// Writes a graph of opset 13 or later for `version`, at most 23. Numbers do not change: only
/// operators pass that mean the same in both, and reductions and Split, whose attributes became
/// inputs. The graph is unchanged on an error. Errors: versions outside 13 to 23, a lower version
/// than the graph's, a node of another operator (named).
Status raise_opset(Graph& graph, int64_t version);

} // namespace octet
