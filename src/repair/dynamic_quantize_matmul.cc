// SPDX-License-Identifier: Apache-2.0
//   com.microsoft.DynamicQuantizeMatMul(a, b, bias)
//   =>   a ─▶ Q ─▶ DQ, DQ(b) ─▶ MatMul [─▶ Add bias]
// Not exact: the range of a is the data's instead of each tensor's own. Without data there is none,
// and the node stays. Source: docs/targets.md 1.3, 4.1.
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "repair/dynamic.h"
#include "repair/probe.h"
#include "repair/qoperator.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> dynamic_quantize_matmul(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!node.is("DynamicQuantizeMatMul", kMicrosoft)) return std::nullopt;
  const Range* seen = context.range_of(node.input(0));
  const TypeInfo& b_type = graph.value(node.input(1)).type;
  if (seen == nullptr || !b_type.has_rank()) return std::nullopt;
  const std::string name = name_of(graph, node);
  const qdq::Grid grid = static_grid(context.zero_points, *seen);
  Patch patch(graph, "MatMul behind Q and DQ, with a fixed scale from the data",
              Exactness::kInexact);
  patch.from(node);
  const ValueId codes = qdq::emit_quantize(patch, grid, node.input(0), name + "_a_quantize");
  const ValueId a = qdq::emit_dequantize(patch, grid, codes, name + "_a");
  const auto b = qdq::emit_operand(patch, graph, {node.input(1), node.input(2), node.input(3)},
                                   b_type.rank() - 1, name + "_b");
  if (!b) return std::nullopt;
  ValueId y = patch.emit("MatMul", {a, *b}, {}, name);
  if (node.input(4).valid()) y = patch.emit("Add", {y, node.input(4)}, {}, name + "_bias");
  patch.replace(node.output(0), y);
  Repair repair{std::move(patch), std::nullopt};
  repair.probe = Probe{graph.value(node.input(0)).name, dynamic_probe(), probe_graph(grid)};
  return repair;
}

} // namespace octet
