// SPDX-License-Identifier: Apache-2.0
//   float constant ─▶ Q ─▶ DQ   =>   int8 codes ─▶ DQ      (a quarter of the size)
// Exact: the codes are those that Q gives. Done where stored weights are asked for.
// Source: docs/targets.md 6 (E5).
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> store_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (context.weights != WeightForm::kStored || !is_quantize(node)) return std::nullopt;
  if (graph.constant(node.input(0)) == nullptr) return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid || !grid->is_symmetric()) return std::nullopt;
  const auto readers =
      qdq::dequantizers(graph, context.uses.of(node.output(0)), node.output(0), *grid);
  const auto codes = constant_value(graph, node.output(0));
  if (!codes || !readers) return std::nullopt;
  Patch patch(graph, "the weight's codes are stored instead of its float values",
              Exactness::kExact);
  patch.from(node);
  const ValueId stored = patch.constant(name_of(graph, node) + "_codes", *codes);
  for (const Node* reader : *readers)
    patch.replace(reader->output(0),
                  qdq::emit_dequantize(patch, *grid, stored, name_of(graph, *reader)));
  return Repair::exact(std::move(patch));
}

} // namespace octet
