// SPDX-License-Identifier: Apache-2.0
//   QLinearConv(x, w, b)   =>   DQ(x), DQ(w), float b ─▶ Conv ─▶ Q
// The sum is rounded to float before Q: a tie may take the other code, one step.
// Source: docs/targets.md 1.3.
#include "passes/standardize/coded_operators.h"

namespace octet {

std::optional<Patch> decompose_qlinear_conv(const Graph& graph, const Node& node) {
  if (!node.is("QLinearConv")) return std::nullopt;
  const std::string name = name_of(graph, node);
  const qdq::Operand x_codes = qdq::operand_at(node, 0), w_codes = qdq::operand_at(node, 3);
  const auto x_scale = qdq::one_scale(graph, x_codes);
  const Tensor* w_scales = qdq::scales_of(graph, w_codes);
  if (!x_scale || w_scales == nullptr) return std::nullopt;
  Patch patch(graph, "QLinearConv becomes Conv between DQ and Q", Exactness::kRounding);
  patch.from(node);
  const auto x = qdq::emit_operand(patch, graph, x_codes, 1, name + "_x");
  const auto w = qdq::emit_operand(patch, graph, w_codes, 0, name + "_w");
  if (!x || !w) return std::nullopt;
  std::vector<ValueId> inputs = {*x, *w};
  if (node.input(8).valid()) {
    const auto bias = qdq::float_bias(graph, node.input(8), *x_scale, *w_scales);
    if (!bias) return std::nullopt;
    inputs.push_back(patch.constant(name + "_bias", *bias));
  }
  const ValueId y = patch.emit("Conv", std::move(inputs), node.attributes, name);
  qdq::replace_by_codes(patch, node, y, node.input(6), node.input(7), name);
  return patch;
}

} // namespace octet
