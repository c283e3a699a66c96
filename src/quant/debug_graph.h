// SPDX-License-Identifier: Apache-2.0
// What the comparisons of a literal graph with its lowered form share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/progress.h"

#include "octet/executor.h"
#include "octet/graph.h"

namespace octet {

/// The executor of a lowered graph: `make` (which lowers by itself), else the reference. Errors: a
/// graph that cannot be lowered.
Result<std::unique_ptr<Executor>> make_lowered(const Graph& graph, const ExecutorFactory& make);

/// One node of a graph on these inputs, by its operator's definition. `captures`: of a node with
/// bodies, what they take from the graph, in the order of node.captures. Errors: no such operator.
Result<std::vector<Tensor>> evaluate_node(const Graph& graph,
                                          const Node& node,
                                          std::vector<Tensor> inputs,
                                          std::span<const Tensor> captures = {});

/// Living nodes, producers before consumers, and what follows from constants alone (stored weights)
/// where it is read first: all of them at once are several times as large as the model.
Result<std::vector<NodeId>> walking_order(const Graph& graph);

/// By value: how many inputs of these nodes read it, and how many of their bodies capture it.
std::vector<int> input_uses(const Graph& graph, std::span<const NodeId> nodes);

/// A walk over the nodes of a graph beside a run of its lowered form, whose outputs come one after
/// the other: a node that is compared with some waits for them, and they are let go of behind it.
struct WalkBeside {
  const Graph& graph;
  std::span<const NodeId> order;
  std::map<NodeId, std::vector<size_t>> waits_for; ///< outputs of the lowered form
  /// Called for each node with what it waited for.
  std::function<Status(const Node&, std::span<const Tensor>)> step;

  /// Errors name the node, or say that it is the lowered graph's; kCancelled once `cancel` is
  /// raised.
  Status run(Executor& lowered, std::span<const Tensor> inputs, const CancelToken* cancel) const;
};

} // namespace octet
