// SPDX-License-Identifier: Apache-2.0
// raise_opset: the same graph written for a later operator set, where that has an operator for a
// chain of this one, or a form that quantization needs.
#pragma once

#include <cstdint>

#include "octet/graph.h"

namespace octet {

/// Operator sets between which graphs are rewritten; older ones are read.
inline constexpr int64_t kOldestOpset = 13, kNewestOpset = 25;

/// A reduction whose axes are an input from opset 18 on, an attribute before.
bool is_reduction(const Node& node);

/// Writes a graph of opset 7 or later for `version`, 13 to 25, with the bodies in it. Numbers do
/// not change: only operators pass that mean the same in both, or whose old form the later set can
/// say (attributes that became inputs, Softmax over several axes, Upsample, modes of GridSample). The graph is unchanged
/// on an error. Errors: versions outside those, a lower version than the graph's, a node of another
/// operator (named).
Status raise_opset(Graph& graph, int64_t version);

} // namespace octet
