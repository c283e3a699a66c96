// SPDX-License-Identifier: Apache-2.0
// Chains of float elementwise nodes of a lowered graph.
#pragma once

#include <vector>

#include "passes/lower/lower.h"

namespace octet::lowering {

/// Makes one Map of nodes whose results only the next one reads. Types must have been inferred.
/// Changes no bit: a Map rounds after each instruction as the nodes did. The notes of what was
/// fused say so.
Status fuse_maps(Graph& graph, std::vector<LowerNote>& notes);

} // namespace octet::lowering
