// SPDX-License-Identifier: Apache-2.0
// Attention of a lowered graph.
#pragma once

#include <vector>

#include "passes/lower/lower.h"

namespace octet::lowering {

/// Makes one Attention or QAttention of scores, what is done to them, softmax and context, where
/// nobody else reads what lies between, with the Transposes around them. Types must have been
/// inferred; elementwise chains are one Map each (fuse_maps). Changes no bit. The notes of what was
/// fused say so.
Status fuse_attention(Graph& graph, std::vector<LowerNote>& notes);

} // namespace octet::lowering
