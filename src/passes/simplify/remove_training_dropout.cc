// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Dropout(training_mode: true) ─▶ y        =>      x
// Changes the meaning: the file draws random numbers at each run, as an export in training mode
// does. One whose mask is used, or whose training mode is computed, stays.
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> remove_training_dropout(const RuleContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!node.is("Dropout") || graph.opset() < 12) return std::nullopt;
  const Tensor* training = graph.constant(node.input(2));
  if (training == nullptr || training->count() != 1 || training->at(0) == 0) return std::nullopt;
  if (node.output(1).valid() && context.uses.count(node.output(1)) > 0) return std::nullopt;
  const ValueId x = node.input(0), y = node.output(0);
  if (!x.valid() || !y.valid() || !can_replace(graph, y, x)) return std::nullopt;
  Patch patch(graph, "training dropout draws random numbers; inference wants none",
              Exactness::kInexact);
  patch.replace(y, x);
  return patch;
}

} // namespace octet
