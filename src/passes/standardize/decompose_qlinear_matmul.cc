// SPDX-License-Identifier: Apache-2.0
//   QLinearMatMul(a, b)   =>   DQ(a), DQ(b) ─▶ MatMul ─▶ Q
// The sum is rounded to float before Q: a tie may take the other code, one step.
// Source: docs/targets.md 1.3.
#include "passes/standardize/coded_operators.h"

namespace octet {

std::optional<Patch> decompose_qlinear_matmul(const Graph& graph, const Node& node) {
  if (!node.is("QLinearMatMul")) return std::nullopt;
  const std::string name = name_of(graph, node);
  const qdq::Operand a_codes = qdq::operand_at(node, 0);
  const TypeInfo& b_type = graph.value(node.input(3)).type;
  if (!qdq::one_scale(graph, a_codes) || !b_type.has_rank()) return std::nullopt;
  Patch patch(graph, "QLinearMatMul becomes MatMul between DQ and Q", Exactness::kRounding);
  patch.from(node);
  const auto a = qdq::emit_operand(patch, graph, a_codes, 1, name + "_a");
  const auto b =
      qdq::emit_operand(patch, graph, qdq::operand_at(node, 3), b_type.rank() - 1, name + "_b");
  if (!a || !b) return std::nullopt;
  const ValueId y = patch.emit("MatMul", {*a, *b}, {}, name);
  qdq::replace_by_codes(patch, node, y, node.input(6), node.input(7), name);
  return patch;
}

} // namespace octet
