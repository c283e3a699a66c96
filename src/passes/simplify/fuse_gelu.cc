// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Div(sqrt 2) ─▶ Erf ─▶ Add(1) ─▶ Mul(x) ─▶ Mul(0.5) ─▶ y    =>    x ─▶ Gelu ─▶ y
//   gelu_new, by Tanh                                               =>    Gelu(approximate: tanh)
// Rounding: equal in real arithmetic. Wanted: opset 20, which has the operator. See match_gelu.cc.
#include "passes/match_gelu.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fuse_gelu(const RuleContext& context, const Node& node) {
  if (context.graph.opset() < 20) return std::nullopt;
  const auto chain = match_gelu(context, node);
  if (!chain) return std::nullopt;
  Patch patch(context.graph, chain->tanh ? "the chain is gelu_new" : "the chain is GELU",
              Exactness::kRounding);
  patch.from(node);
  Attributes attributes;
  if (chain->tanh) attributes["approximate"].value = std::string("tanh");
  patch.replace(chain->y, patch.emit("Gelu", {chain->x}, std::move(attributes), node.name));
  return patch;
}

} // namespace octet
