// SPDX-License-Identifier: Apache-2.0
//   a ─▶ Q(s_a) ─▶ DQ ─┐
//   b ─▶ Q(s_b) ─▶ DQ ─┴▶ Concat ─▶ Q(s_y) ─▶ DQ   =>   all with the largest of the scales
// DQ and Q around the Concat cancel then, and TensorRT moves int8. Costs accuracy, so it is done
// only where it is asked for. Source: docs/targets.md 2.1 rule 9.
#include <algorithm>

#include "ops/qdq/site.h"
#include "repair/rules.h"
#include "repair/unify.h"

namespace octet {

std::optional<Repair> unify_concat(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (context.scales != ScaleForm::kUnified || !node.is("Concat")) return std::nullopt;
  std::vector<SymmetricPair> pairs;
  const auto add = [&](const Node* quantize) {
    const auto pair = quantize == nullptr ? std::nullopt : symmetric_pair(context, *quantize);
    if (!pair) return false;
    if (std::none_of(pairs.begin(), pairs.end(),
                     [&](const SymmetricPair& p) { return p.quantize == quantize; }))
      pairs.push_back(*pair);
    return true;
  };
  for (const ValueId in : node.inputs) {
    const Node* dequantize = graph.producer(in);
    if (dequantize == nullptr || !is_dequantize(*dequantize)) return std::nullopt;
    if (!add(graph.producer(dequantize->input(0)))) return std::nullopt;
  }
  for (const Uses::Use& use : context.uses.of(node.output(0)))
    if (is_quantize(graph.node(use.node))) add(&graph.node(use.node));
  if (pairs.empty()) return std::nullopt;
  return unify(context, pairs, "one scale for all that the Concat joins and for what it gives");
}

} // namespace octet
