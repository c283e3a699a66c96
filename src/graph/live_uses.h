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
  /// Makes `to` of every use of `from` in the graph, by nodes and as a graph output.
  void replace(Graph& graph, ValueId from, ValueId to);
  /// Removes the nodes that made these values and are of no use now, and in turn what they alone
  /// used. Constants without a use stay. Returns how many nodes went.
  int remove_dead(Graph& graph, std::vector<ValueId> freed);

 private:
  /// The uses of one value by nodes. One that is gone stays as a gap until somebody looks, so that
  /// a constant that half of the graph reads costs no more than others.
  struct Users {
    std::vector<Uses::Use> uses;
    size_t gaps = 0;
    bool sorted = true; ///< by node: as long as nodes come in order
    int outputs = 0;    ///< uses as a graph output

    int count() const { return static_cast<int>(uses.size() - gaps) + outputs; }
    void add(const Uses::Use& use);
    void remove(NodeId node);
    void close_gaps();
  };
  void grow(ValueId id);
  bool knows(ValueId id) const {
    return id.valid() && static_cast<size_t>(id.index) < users_.size();
  }

  mutable std::vector<Users> users_; ///< looking closes gaps
};

} // namespace octet
