// SPDX-License-Identifier: Apache-2.0
//   int32 codes ─▶ DQ ─▶ bias   =>   float bias = (codes - zero point) * scale
// Exact: the reference evaluates the DQ. Source: docs/targets.md 1.3, 6.
#include "passes/evaluate.h"
#include "targets/repair/coding.h"
#include "targets/repair/rules.h"

namespace octet {

std::optional<Repair> fold_bias(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || graph.is_output(node.output(0))) return std::nullopt;
  const Tensor* codes = graph.constant(node.input(0));
  if (codes == nullptr || codes->type() != DType::kInt32) return std::nullopt;
  const auto bias = evaluate_constant(graph, node);
  if (!bias) return std::nullopt;
  Patch patch(graph, "int32 codes are stored as the float values that they mean",
              Exactness::kExact);
  patch.from(node);
  patch.replace(node.output(0), patch.constant(graph.value(node.output(0)).name, bias->front()));
  return Repair::exact(std::move(patch));
}

} // namespace octet
