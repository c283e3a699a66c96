// SPDX-License-Identifier: Apache-2.0
// A graph with kernels chosen and weights packed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/step.h"

#include "octet/session.h"

namespace octet::runtime {

/// Immutable and shared by all contexts.
struct PreparedGraph {
  Graph graph; ///< lowered, types inferred
  Isa isa = Isa::kScalar;
  std::vector<NodeId> order;
  std::vector<std::unique_ptr<Prepared>> nodes; ///< by node id; null for views
  std::vector<bool> by_reference;               ///< by node id
  /// By value id, aligned where a step asks for it; empty for what is none. Those that are packed
  /// are released (core/released.h), here and in the graph.
  std::vector<Tensor> constants;
  std::vector<PlannedNode> planned; ///< bodies behind the node that they belong to
  std::vector<size_t> planned_at;   ///< by node id: its place in `planned`
  std::shared_ptr<PackStore> store; ///< null: the graph holds what its nodes are prepared with
  int64_t packed_bytes = 0;         ///< of packs in memory, those of bodies included
};

struct PrepareOptions {
  Isa isa = Isa::kScalar;
  bool keep_weights = false; ///< constants that are packed stay in the graph too
  /// Read, or told what is packed (packs.h); null: neither. The prepared graph holds on to it.
  std::shared_ptr<PackStore> store = nullptr;
  PackedMemory* memory = nullptr; ///< of packs.h, for bodies: that of the graph around them
};

/// What is prepared of a model: verified and, where the options want it, simplified and lowered.
Result<Graph> ready_graph(const Graph& graph, const SessionOptions& options);

/// Errors: types that do not fit, an operator that octet cannot run (the node is named).
Result<std::shared_ptr<const PreparedGraph>> prepare_graph(Graph graph,
                                                           const PrepareOptions& options);

/// For a node that cannot be bound, since the shapes of its outputs depend on data.
std::unique_ptr<Evaluation>
evaluation_of(const PreparedGraph& prepared, const Graph& shaped, const Node& node);

/// By value id: what follows from constants and the shapes of values, so that plans compute it when
/// they are bound.
std::vector<bool> made_of_shapes(const Graph& graph, std::span<const NodeId> order);
/// By value id: what some step must make. Not what `is_known` says.
std::vector<bool> needed_values(const Graph& graph,
                                std::span<const NodeId> order,
                                const std::function<bool(ValueId)>& is_known);
/// Whether a node has an output that is needed.
bool makes_needed(const Node& node, const std::vector<bool>& needed);

} // namespace octet::runtime
