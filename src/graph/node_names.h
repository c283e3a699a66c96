// SPDX-License-Identifier: Apache-2.0
// NodeNames: nodes by name, for those who look many up. Graph::find_node goes through all nodes.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "octet/graph.h"

namespace octet {

/// Finds what Graph::find_node finds. The graph must outlive it, with the same nodes and names.
class NodeNames {
 public:
  explicit NodeNames(const Graph& graph) {
    for (const NodeId id : graph.nodes())
      nodes_.try_emplace(graph.node(id).name, id);
  }
  std::optional<NodeId> find(std::string_view name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string_view, NodeId> nodes_;
};

} // namespace octet
