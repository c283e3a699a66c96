// SPDX-License-Identifier: Apache-2.0
//   float constant ─▶ Q ─▶ DQ   =>   int8 codes ─▶ DQ      (a quarter of the size)
// Exact: the codes are those that Q gives. Done where stored weights are asked for.
// Source: docs/targets.md 6 (E5).
#include "passes/evaluate.h"
#include "targets/repair/coding.h"
#include "targets/repair/rules.h"

namespace octet {

std::optional<Repair> store_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (context.weights != WeightForm::kStored || !is_quantize(node)) return std::nullopt;
  if (graph.constant(node.input(0)) == nullptr) return std::nullopt;
  const auto coding = coding_of(graph, node);
  if (!coding || !is_symmetric(*coding)) return std::nullopt;
  const auto readers = dequantizers(context, node.output(0), *coding);
  const auto codes = constant_value(graph, node.output(0));
  if (!codes || readers.empty()) return std::nullopt;
  Patch patch(graph, "the weight's codes are stored instead of its float values",
              Exactness::kExact);
  patch.from(node);
  const ValueId stored = patch.constant(name_of(graph, node) + "_codes", *codes);
  for (const Node* reader : readers)
    patch.replace(reader->output(0),
                  emit_dequantize(patch, *coding, stored, name_of(graph, *reader)));
  return Repair::exact(std::move(patch));
}

} // namespace octet
