// SPDX-License-Identifier: Apache-2.0
//   x ─┬▶ Q ─▶ a      =>   x ─▶ Q ─┬▶ a
//      └▶ Q ─▶ b                   └▶ b
// Where both say the same: TensorRT quantizes the tensor once. Exact. Source: docs/targets.md 6
// (E8).
#include "ops/qdq/site.h"
#include "repair/rules.h"
#include "targets/checks.h"

namespace octet {

std::optional<Repair> merge_quantize(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_quantize(node) || graph.constant(node.input(0)) != nullptr) return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid) return std::nullopt;
  for (const Uses::Use& use : context.uses.of(node.input(0))) {
    const Node& other = graph.node(use.node);
    if (use.input != 0 || !is_quantize(other) || !(other.id < node.id)) continue;
    const auto theirs = qdq::grid_of(graph, other);
    if (!theirs || !qdq::same(*theirs, *grid, qdq::Same::kForm) ||
        !can_replace(graph, node.output(0), other.output(0)))
      continue;
    Patch patch(graph, "the tensor is quantized alike by " + label(graph, other),
                Exactness::kExact);
    patch.from(node).replace(node.output(0), other.output(0));
    return Repair::exact(std::move(patch));
  }
  return std::nullopt;
}

} // namespace octet
