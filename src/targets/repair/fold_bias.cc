// SPDX-License-Identifier: Apache-2.0
//   codes ─▶ DQ ─▶ bias   =>   float bias = (codes - zero point) * scale
// int32 codes, and what has a zero point and is no weight: one row or one number, such as the
// biases and factors that quantize_static codes like activations. Exact: the reference evaluates
// the DQ. Source: docs/targets.md 1.3, 6.
#include "core/format.h"
#include "targets/repair/coding.h"
#include "targets/repair/rules.h"

namespace octet {

namespace {

/// One row or one number, read by no product of its own.
bool is_row_with_zero_point(const RepairContext& context, const Node& node) {
  const auto coding = coding_of(context.graph, node);
  const TypeInfo& type = context.graph.value(node.input(0)).type;
  if (!coding || is_symmetric(*coding) || !type.has_rank() || type.rank() > 1) return false;
  for (const Uses::Use& use : context.uses.of(node.output(0))) {
    const std::string& reader = context.graph.node(use.node).op_type;
    if (reader == "MatMul" || reader == "Gather") return false;
  }
  return true;
}

} // namespace

std::optional<Repair> fold_bias(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || graph.is_output(node.output(0))) return std::nullopt;
  const DType type = graph.value(node.input(0)).type.type;
  if (type != DType::kInt32 && !is_row_with_zero_point(context, node)) return std::nullopt;
  const auto bias = constant_value(graph, node.output(0));
  if (!bias) return std::nullopt;
  Patch patch(
      graph,
      fmt::format("{} codes are stored as the float values that they mean", octet::name(type)),
      Exactness::kExact);
  patch.from(node);
  patch.replace(node.output(0), patch.constant(graph.value(node.output(0)).name, *bias));
  return Repair::exact(std::move(patch));
}

} // namespace octet
