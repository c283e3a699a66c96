// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Dropout ─▶ y        =>      x
// Exact for inference, which is what a Dropout without training_mode = true does. One whose mask is
// used, or whose training mode is true or not constant, stays.
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> eliminate_dropout(const RuleContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!node.is("Dropout")) return std::nullopt;
  if (graph.opset() < 7 && node.attr_int("is_test", 0) == 0) return std::nullopt;
  if (node.input(2).valid()) {
    const Tensor* training = graph.constant(node.input(2));
    if (training == nullptr || training->count() != 1 || training->at(0) != 0) return std::nullopt;
  }
  if (node.output(1).valid() && context.uses.count(node.output(1)) > 0) return std::nullopt;
  const ValueId x = node.input(0);
  const ValueId y = node.output(0);
  if (!x.valid() || !y.valid() || !can_replace(graph, y, x)) return std::nullopt;
  Patch patch(graph, "dropout does nothing in inference", Exactness::kExact);
  patch.replace(y, x);
  return patch;
}

} // namespace octet
