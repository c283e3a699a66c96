// SPDX-License-Identifier: Apache-2.0
// Names of nodes for people.
#include "graph/label.h"

namespace octet {

std::string name_of(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  for (const ValueId out : node.outputs)
    if (out.valid() && out.index < graph.value_bound()) return graph.value(out).name;
  return {};
}

std::string label(const Graph& graph, const Node& node) {
  const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  return op + " \"" + name_of(graph, node) + "\"";
}

} // namespace octet
