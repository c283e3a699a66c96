// SPDX-License-Identifier: Apache-2.0
//   com.microsoft.QGemm(a, b, c)   =>   DQ(a), DQ(b), float c ─▶ Gemm [─▶ Q]
// The sum is rounded to float: a tie may take the other code, one step.
// Source: docs/targets.md 1.3, 4.1.
#include "passes/standardize/coded_operators.h"

namespace octet {

std::optional<Patch> decompose_qgemm(const Graph& graph, const Node& node) {
  if (!node.is("QGemm", kMicrosoft)) return std::nullopt;
  const std::string name = name_of(graph, node);
  const qdq::Operand a_codes = qdq::operand_at(node, 0), b_codes = qdq::operand_at(node, 3);
  const auto a_scale = qdq::one_scale(graph, a_codes);
  const Tensor* b_scales = qdq::scales_of(graph, b_codes);
  if (!a_scale || b_scales == nullptr) return std::nullopt;
  Patch patch(graph, "QGemm becomes Gemm between DQ and Q", Exactness::kRounding);
  patch.from(node);
  const int64_t axis = node.attr_int("transB", 0) != 0 ? 0 : 1;
  const auto a = qdq::emit_operand(patch, graph, a_codes, 1, name + "_a");
  const auto b = qdq::emit_operand(patch, graph, b_codes, axis, name + "_b");
  if (!a || !b) return std::nullopt;
  std::vector<ValueId> inputs = {*a, *b};
  const double factor = *a_scale * static_cast<double>(node.attr_float("alpha", 1));
  if (node.input(6).valid()) {
    const auto c = qdq::float_bias(graph, node.input(6), factor, *b_scales);
    if (!c) return std::nullopt;
    inputs.push_back(patch.constant(name + "_c", *c));
  } else if (graph.opset() < 11) {
    return std::nullopt; // Gemm had no optional c
  }
  const ValueId y = patch.emit("Gemm", std::move(inputs), node.attributes, name);
  if (!node.input(7).valid()) {
    patch.replace(node.output(0), y);
    return patch;
  }
  qdq::replace_by_codes(patch, node, y, node.input(7), node.input(8), name);
  return patch;
}

} // namespace octet
