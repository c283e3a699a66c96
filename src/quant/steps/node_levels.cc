// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/node_levels.h"

#include <algorithm>
#include <map>

namespace octet {

Result<std::vector<std::vector<NodeId>>> levels_of(const Graph& graph,
                                                   const std::set<NodeId>& nodes) {
  std::vector<std::vector<NodeId>> out;
  std::map<ValueId, size_t> behind; ///< nodes before a value
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    const Node& node = graph.node(id);
    size_t level = 0;
    for (const ValueId in : node.inputs)
      if (const auto known = behind.find(in); known != behind.end())
        level = std::max(level, known->second);
    if (nodes.contains(id)) {
      out.resize(std::max(out.size(), level + 1));
      out[level++].push_back(id);
    }
    if (level > 0)
      for (const ValueId result : node.outputs)
        behind[result] = level;
  }
  return out;
}

} // namespace octet
