// SPDX-License-Identifier: Apache-2.0
// Evaluates what constants alone lead to, by the operators' reference: one node, or a value.
#pragma once

#include <optional>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Whether two runs on the same inputs give the same: neither it nor its subgraphs draw random
/// numbers. Nothing else may be computed ahead of a run, or once for several nodes; so not what an
/// unknown operator does.
bool is_deterministic(const Node& node);

/// One tensor for each output; nullopt when an input is not constant, the operator is unknown,
/// draws random numbers or holds subgraphs, or its evaluation fails.
std::optional<std::vector<Tensor>> evaluate_constant(const Graph& graph, const Node& node);

/// The constant behind a value: its own, or what a few dozen nodes make of constants alone, aligned
/// for its elements. Nullopt where anything else takes part; for an absent value too.
std::optional<Tensor> constant_value(const Graph& graph, ValueId value);
/// Whether constants alone lead to the value, which is not computed for it.
bool comes_of_constants(const Graph& graph, ValueId value);

} // namespace octet
