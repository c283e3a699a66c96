// SPDX-License-Identifier: Apache-2.0
//   com.microsoft.MatMulIntegerToFloat(a, b, bias)   =>   DQ(a), DQ(b) ─▶ MatMul [─▶ Add bias]
// The exact integer sum becomes a float one: rounding. Source: docs/targets.md 1.3, 4.1.
#include "passes/standardize/coded_operators.h"

namespace octet {

std::optional<Patch> decompose_matmul_integer_to_float(const Graph& graph, const Node& node) {
  if (!node.is("MatMulIntegerToFloat", kMicrosoft)) return std::nullopt;
  const std::string name = name_of(graph, node);
  const qdq::Operand a_codes{node.input(0), node.input(2), node.input(4)};
  const TypeInfo& b_type = graph.value(node.input(1)).type;
  if (!qdq::one_scale(graph, a_codes) || !b_type.has_rank()) return std::nullopt;
  Patch patch(graph, "MatMulIntegerToFloat becomes MatMul behind DQ", Exactness::kRounding);
  patch.from(node);
  const auto a = qdq::emit_operand(patch, graph, a_codes, 1, name + "_a");
  const auto b = qdq::emit_operand(patch, graph, {node.input(1), node.input(3), node.input(5)},
                                   b_type.rank() - 1, name + "_b");
  if (!a || !b) return std::nullopt;
  ValueId y = patch.emit("MatMul", {*a, *b}, {}, name);
  if (node.input(6).valid()) y = patch.emit("Add", {y, node.input(6)}, {}, name + "_bias");
  patch.replace(node.output(0), y);
  return patch;
}

} // namespace octet
