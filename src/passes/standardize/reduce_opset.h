// SPDX-License-Identifier: Apache-2.0
// reduce_opset: the same graph written for an earlier operator set.
#pragma once

#include <cstdint>
#include <vector>

#include "passes/rewrite.h"

namespace octet {

/// Writes a graph of opset 23 or earlier for `version`, 13 or later. Inputs become attributes,
/// operators that the earlier set lacks become chains; each step says whether it is exact. Errors:
/// a higher version than the graph's, versions outside 13 to 23, local functions, a node without a
/// counterpart (named, with the reason); the graph is then in no defined state.
Result<std::vector<Step>> reduce_opset(Graph& graph, int64_t version);

} // namespace octet
