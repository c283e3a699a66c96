// SPDX-License-Identifier: Apache-2.0
//   bias + MatMul(x, W) ─▶ y      =>      MatMul(x, W) + bias ─▶ y
// Exact. Targets look for the bias as the second operand; the TorchScript exporter writes it first.
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> order_bias(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Add") || node.inputs.size() != 2) return std::nullopt;
  if (g.constant(node.inputs[0]) == nullptr || made_by(g, node.inputs[1], "MatMul") == nullptr)
    return std::nullopt;
  Patch patch(g, "the bias of a product stands second", Exactness::kExact);
  patch.set_input(node.id, 0, node.inputs[1]);
  patch.set_input(node.id, 1, node.inputs[0]);
  return patch;
}

} // namespace octet
