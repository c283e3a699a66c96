// SPDX-License-Identifier: Apache-2.0
//   d = x - ReduceMean(x),  y = d / Sqrt(ReduceMean(d^2) + epsilon) * gain + bias
//                                                      =>    x ─▶ LayerNormalization ─▶ y
// over the last axes. Rounding: equal in real arithmetic. Wanted: opset 17, which has the operator.
// See match_layer_norm.cc.
#include "passes/match_layer_norm.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fuse_layer_norm(const RuleContext& context, const Node& node) {
  if (context.graph.opset() < 17) return std::nullopt;
  const auto chain = match_layer_norm(context, node);
  if (!chain) return std::nullopt;
  Patch patch(context.graph, "the chain is layer normalization", Exactness::kRounding);
  patch.from(node);
  Attributes attributes;
  attributes["axis"].value = -chain->axes;
  attributes["epsilon"].value = chain->epsilon;
  std::vector<ValueId> inputs = {chain->x, chain->gain};
  if (chain->bias.valid()) inputs.push_back(chain->bias);
  patch.replace(chain->y, patch.emit("LayerNormalization", std::move(inputs), std::move(attributes),
                                     node.name));
  return patch;
}

} // namespace octet
