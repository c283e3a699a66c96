// SPDX-License-Identifier: Apache-2.0
// What operators said otherwise in opsets 7 to 12: the part of raise_opset below 13.
#pragma once

#include <string>

#include "octet/graph.h"

namespace octet {

/// Why a node of opset `from`, 7 to 12, cannot be written for 13 with the same numbers; empty: it
/// can be. Operators that did not change pass.
std::string why_not_13(const Graph& graph, const Node& node, int64_t from);

/// Writes a node that `why_not_13` passed. `typed` is the graph before, with types as far as they
/// can be inferred. Errors: a type that the new form needs is not known.
Status write_for_13(Graph& graph, NodeId node, int64_t from, const Graph& typed);

} // namespace octet
