// SPDX-License-Identifier: Apache-2.0
// Evaluates one node whose inputs are all constant, by its operator's reference.
#pragma once

#include <optional>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Whether two runs on the same inputs give the same: neither it nor its subgraphs draw random
/// numbers. Nothing else may be computed ahead of a run, or once for several nodes; so not what an
/// unknown operator of another domain does.
bool is_deterministic(const Node& node);

/// One tensor for each output; nullopt when an input is not constant, the operator is unknown,
/// draws random numbers or holds subgraphs, or its evaluation fails.
std::optional<std::vector<Tensor>> evaluate_constant(const Graph& graph, const Node& node);

} // namespace octet
