// SPDX-License-Identifier: Apache-2.0
//   int8 codes ─▶ DQ   =>   float constant ─▶ Q ─▶ DQ
// What TensorRT 8's guide wants, and what trains. Exact: a code times its scale divides back to the
// code. Source: docs/targets.md 1.3, 6 (E5).
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> float_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const bool wanted = context.weights == WeightForm::kFloat ||
                      (context.weights == WeightForm::kKeep && context.is_tensorrt() &&
                       context.target.version < 1000);
  if (!wanted || !is_dequantize(node) || graph.constant(node.input(0)) == nullptr)
    return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid || grid->codes != DType::kInt8 || !grid->is_symmetric() ||
      grid->real() != DType::kFloat32)
    return std::nullopt;
  const auto values = evaluate_constant(graph, node);
  if (!values) return std::nullopt;
  Patch patch(graph, "the weight is stored in float, behind Q and DQ", Exactness::kExact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  const ValueId weight = patch.constant(name + "_float", values->front());
  const ValueId codes = qdq::emit_quantize(patch, *grid, weight, name + "_quantize");
  patch.replace(node.output(0), qdq::emit_dequantize(patch, *grid, codes, name));
  return Repair::exact(std::move(patch));
}

} // namespace octet
