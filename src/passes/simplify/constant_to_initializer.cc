// SPDX-License-Identifier: Apache-2.0
//   Constant ─▶ y        =>      initializer y
// Exact. A Constant that is a graph output stays (an output must come from a node).
#include "ops/evaluate.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> constant_to_initializer(const RuleContext& context, const Node& node) {
  if (!node.is("Constant") || node.outputs.size() != 1) return std::nullopt;
  const ValueId y = node.outputs[0];
  if (context.graph.is_output(y)) return std::nullopt;
  const auto value = evaluate_constant(context.graph, node);
  if (!value || (*value)[0].empty()) return std::nullopt;
  Patch patch(context.graph, "a Constant node is an initializer", Exactness::kExact);
  patch.replace(y, patch.constant(context.graph.value(y).name, (*value)[0]));
  return patch;
}

} // namespace octet
