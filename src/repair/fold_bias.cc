// SPDX-License-Identifier: Apache-2.0
//   codes ─▶ DQ ─▶ bias   =>   float bias = (codes - zero point) * scale
// fold_bias: int32 codes. fold_misread_bias: those that ONNX Runtime takes for others. fold_row:
// what has a zero point and is no weight, one row or one number, such as the biases and factors
// that quantize_static codes like activations. Exact: the reference evaluates the DQ. Source:
// docs/targets.md 1.3, 6.
#include "core/format.h"
#include "ops/evaluate.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"

namespace octet {

namespace {

/// One row or one number, read by no product of its own.
bool is_row_with_zero_point(const RepairContext& context, const Node& node) {
  const auto grid = qdq::grid_of(context.graph, node);
  const TypeInfo& type = context.graph.value(node.input(0)).type;
  if (!grid || grid->is_symmetric() || !type.has_rank() || type.rank() > 1) return false;
  for (const Uses::Use& use : context.uses.of(node.output(0))) {
    const std::string& reader = context.graph.node(use.node).op_type;
    if (reader == "MatMul" || reader == "Gather") return false;
  }
  return true;
}

std::optional<Repair> fold_dequantize(const Graph& graph, const Node& node) {
  const auto bias = constant_value(graph, node.output(0));
  if (!bias) return std::nullopt;
  Patch patch(graph,
              fmt::format("{} codes are stored as the float values that they mean",
                          octet::name(graph.value(node.input(0)).type.type)),
              Exactness::kExact);
  patch.from(node);
  patch.replace(node.output(0), patch.constant(graph.value(node.output(0)).name, *bias));
  return Repair::exact(std::move(patch));
}

bool is_inner_dequantize(const Graph& graph, const Node& node) {
  return is_dequantize(node) && !graph.is_output(node.output(0));
}

} // namespace

std::optional<Repair> fold_bias(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_inner_dequantize(graph, node) || graph.value(node.input(0)).type.type != DType::kInt32)
    return std::nullopt;
  return fold_dequantize(graph, node);
}

std::optional<Repair> fold_misread_bias(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const ValueId bias = onnxruntime_misread_bias(graph, context.uses, context.target, node);
  return bias.valid() ? fold_dequantize(graph, *graph.producer(bias)) : std::nullopt;
}

std::optional<Repair> fold_row(const RepairContext& context, const Node& node) {
  if (!is_inner_dequantize(context.graph, node) || !is_row_with_zero_point(context, node))
    return std::nullopt;
  return fold_dequantize(context.graph, node);
}

} // namespace octet
