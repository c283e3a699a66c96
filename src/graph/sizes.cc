// SPDX-License-Identifier: Apache-2.0
#include "graph/sizes.h"

#include "graph/bodies.h"

namespace octet {

int64_t constant_bytes(const Graph& graph) {
  int64_t total = 0;
  for (const ValueId id : graph.constants())
    total += static_cast<int64_t>(graph.value(id).constant.bytes().size());
  for (const NodeId id : graph.nodes())
    for (const Body& body : bodies_of(graph.node(id)))
      total += constant_bytes(*body.graph);
  return total;
}

std::optional<int64_t> fixed_batch(const Graph& graph) {
  bool first = true;
  for (const ValueId id : graph.inputs()) {
    const TypeInfo& type = graph.value(id).type;
    if (!type.has_rank() || type.rank() == 0) continue;
    const auto size = type.shape->front().maybe_value();
    if (size && *size > 0 && (first || *size == 1)) return size;
    first = false;
  }
  return std::nullopt;
}

} // namespace octet
