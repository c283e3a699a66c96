// SPDX-License-Identifier: Apache-2.0
#include "graph/edit.h"

namespace octet {

void replace_node(Graph& graph, NodeId node, ValueId result) {
  const ValueId replaced = graph.node(node).output(0);
  const std::string name = graph.value(replaced).name;
  if (!graph.value(result).is_constant()) graph.set_type(result, graph.value(replaced).type);
  graph.replace_uses(replaced, result);
  graph.remove_node(node);
  graph.rename(result, name);
}

} // namespace octet
