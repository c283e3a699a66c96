// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Div(sqrt 2) ─▶ Erf ─▶ Add(1) ─▶ Mul(x) ─▶ Mul(0.5) ─▶ y    =>    x ─▶ Gelu ─▶ y
// in octet.native; see passes/match_gelu.cc. Rounding: equal in real arithmetic.
#include "graph/domains.h"
#include "passes/lower/chains.h"
#include "passes/match_gelu.h"

namespace octet::lowering {

std::optional<Patch> fuse_gelu(const RuleContext& c, const Node& node) {
  const auto chain = match_gelu(c, node);
  if (!chain || chain->tanh || c.graph.value(chain->x).type.type != DType::kFloat32)
    return std::nullopt;
  Patch patch(c.graph, "the chain is GELU", Exactness::kRounding);
  patch.from(node);
  patch.import_opset(kNative, 1);
  patch.replace(chain->y, patch.emit("Gelu", {chain->x}, {}, node.name + "/gelu", kNative));
  return patch;
}

} // namespace octet::lowering
