// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ DQ ─▶ AveragePool {dilations=[1, 1]} ─▶ Q   =>   the same without dilations
// Exact: 1 is what stands where none are said. Source: docs/targets.md 8.
#include "graph/label.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"

namespace octet {

std::optional<Repair> drop_dilations(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!onnxruntime_refused_pool(graph, context.uses, context.target, node) ||
      onnxruntime_dilates(node))
    return std::nullopt;
  Patch patch(graph, "dilations that are all 1 are left out", Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  attributes.erase("dilations");
  patch.replace(node.output(0), patch.emit(node.op_type, node.inputs, std::move(attributes),
                                           node.name, node.domain));
  return Repair::exact(std::move(patch));
}

} // namespace octet
