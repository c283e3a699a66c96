// SPDX-License-Identifier: Apache-2.0
// What the comparisons of a literal graph with its lowered form share.
#pragma once

#include <memory>
#include <vector>

#include "octet/executor.h"
#include "octet/graph.h"

namespace octet {

/// The executor of a lowered graph: `make` (which lowers by itself), else the reference. Errors: a
/// graph that cannot be lowered.
Result<std::unique_ptr<Executor>> make_lowered(const Graph& graph, const ExecutorFactory& make);

/// One node of a graph on these inputs, by its operator's definition. Errors: no such operator.
Result<std::vector<Tensor>>
evaluate_node(const Graph& graph, const Node& node, std::vector<Tensor> inputs);

} // namespace octet
