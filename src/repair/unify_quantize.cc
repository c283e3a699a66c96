// SPDX-License-Identifier: Apache-2.0
//   x ─┬▶ Q(s_a) ─▶ DQ      =>   both with the larger scale
//      └▶ Q(s_b) ─▶ DQ
// The two branches of a residual, say; merge_quantize then leaves one Q. Costs accuracy, so it is
// done only where it is asked for. Source: docs/targets.md 6.
#include "repair/rules.h"
#include "repair/unify.h"

namespace octet {

std::optional<Repair> unify_quantize(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (context.scales != ScaleForm::kUnified || !symmetric_pair(context, node)) return std::nullopt;
  std::vector<SymmetricPair> pairs;
  for (const Uses::Use& use : context.uses.of(node.input(0))) {
    const auto pair = use.input == 0 ? symmetric_pair(context, graph.node(use.node)) : std::nullopt;
    if (pair) pairs.push_back(*pair);
  }
  return unify(context, pairs, "one scale for all quantizers of the tensor");
}

} // namespace octet
