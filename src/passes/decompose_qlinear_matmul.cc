// SPDX-License-Identifier: Apache-2.0
//   QLinearMatMul(a, b)   =>   DQ(a), DQ(b) ─▶ MatMul ─▶ Q
// The sum is rounded to float before Q: a tie may take the other code, one step.
// Source: docs/targets.md 1.3.
#include "passes/coded_operators.h"

namespace octet {

std::optional<Patch> decompose_qlinear_matmul(const Graph& graph, const Node& node) {
  if (!node.is("QLinearMatMul")) return std::nullopt;
  const std::string name = name_of(graph, node);
  const Tensor* as = graph.constant(node.input(1));
  const TypeInfo& b_type = graph.value(node.input(3)).type;
  if (as == nullptr || as->count() != 1 || !b_type.has_rank()) return std::nullopt;
  Patch patch(graph, "QLinearMatMul becomes MatMul between DQ and Q", Exactness::kRounding);
  patch.from(node);
  const auto a = emit_values(patch, graph, coded_input(node, 0), 1, name + "_a");
  const auto b = emit_values(patch, graph, coded_input(node, 3), b_type.rank() - 1, name + "_b");
  if (!a || !b) return std::nullopt;
  const ValueId y = patch.emit("MatMul", {*a, *b}, {}, name);
  replace_by_codes(patch, node, y, node.input(6), node.input(7), name);
  return patch;
}

} // namespace octet
