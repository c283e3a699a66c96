// SPDX-License-Identifier: Apache-2.0
//   QLinearConv(x, w, b)   =>   DQ(x), DQ(w), float b ─▶ Conv ─▶ Q
// The sum is rounded to float before Q: a tie may take the other code, one step.
// Source: docs/targets.md 1.3.
#include "passes/coded_operators.h"

namespace octet {

std::optional<Patch> decompose_qlinear_conv(const Graph& graph, const Node& node) {
  if (!node.is("QLinearConv")) return std::nullopt;
  const std::string name = name_of(graph, node);
  const Tensor *xs = graph.constant(node.input(1)), *ws = graph.constant(node.input(4));
  if (xs == nullptr || xs->count() != 1 || ws == nullptr) return std::nullopt;
  Patch patch(graph, "QLinearConv becomes Conv between DQ and Q", Exactness::kRounding);
  patch.from(node);
  const auto x = emit_values(patch, graph, coded_input(node, 0), 1, name + "_x");
  const auto w = emit_values(patch, graph, coded_input(node, 3), 0, name + "_w");
  if (!x || !w) return std::nullopt;
  std::vector<ValueId> inputs = {*x, *w};
  if (node.input(8).valid()) {
    const auto bias = float_bias(graph, node.input(8), xs->at(0), *ws);
    if (!bias) return std::nullopt;
    inputs.push_back(patch.constant(name + "_bias", *bias));
  }
  const ValueId y = patch.emit("Conv", std::move(inputs), node.attributes, name);
  replace_by_codes(patch, node, y, node.input(6), node.input(7), name);
  return patch;
}

} // namespace octet
