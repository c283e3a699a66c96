// SPDX-License-Identifier: Apache-2.0
// LiveUses: who uses each value of a graph that changes, kept up to date change by change.
#pragma once

#include <vector>

#include "octet/graph.h"

namespace octet {

/// What becomes of constants and captures that a change leaves without a use, and of their names.
enum class DeadConstants { kStay, kGo };

class LiveUses : public Uses {
 public:
  explicit LiveUses(const Graph& graph) : Uses(graph) {}

  /// A node has come; a node is about to go.
  void add(const Node& node) { add_node(node); }
  /// The nodes from `first` on have come.
  void add_from(const Graph& graph, NodeId first);
  void remove(const Node& node);
  /// Makes `value` the input `index` of a node.
  void set_input(Graph& graph, NodeId node, size_t index, ValueId value);
  /// Makes `to` of every use of `from` in the graph, by nodes and as a graph output.
  void replace(Graph& graph, ValueId from, ValueId to);
  /// Removes the nodes that made these values and are of no use now, and in turn what they alone
  /// used. Constants and captures without a use go only if `dead_constants` says so. Returns how
  /// many nodes went.
  int remove_dead(Graph& graph, std::vector<ValueId> freed, DeadConstants dead_constants);

 private:
  void forget(ValueId id, NodeId node);
  void grow(ValueId id);
};

} // namespace octet
