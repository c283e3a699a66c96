// SPDX-License-Identifier: Apache-2.0
// LiveUses: who uses each value of a graph that changes, kept up to date change by change.
#pragma once

#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet {

class LiveUses {
 public:
  explicit LiveUses(const Graph& graph);

  std::span<const Uses::Use> of(ValueId id) const;
  /// Uses by nodes plus uses as a graph output.
  int count(ValueId id) const;
  /// The only consumer when there is one and the value is no graph output, else an invalid id.
  NodeId single_consumer(ValueId id) const;

  /// A node has come; a node is about to go or to change its inputs.
  void add(const Node& node);
  void remove(const Node& node);
  /// Every use of `from`, by nodes and as a graph output, has become one of `to`.
  void moved(ValueId from, ValueId to);
  /// Removes the nodes that made these values and are of no use now, and in turn what they alone
  /// used. Constants without a use stay. Returns how many nodes went.
  int remove_dead(Graph& graph, std::vector<ValueId> freed);

 private:
  void grow(ValueId id);

  std::vector<std::vector<Uses::Use>> uses_;
  std::vector<int> output_uses_;
};

} // namespace octet
