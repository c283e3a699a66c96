// SPDX-License-Identifier: Apache-2.0
//   x, t ─▶ CastLike ─▶ y    =>    x ─▶ Cast(to = the type of t) ─▶ y
// Exact. Rewrites and kernels know Cast, and t may have no other reader.
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> cast_like_to_cast(const RuleContext& context, const Node& node) {
  if (!node.is("CastLike") || !node.input(0).valid() || !node.input(1).valid()) return std::nullopt;
  const DType to = context.graph.value(node.input(1)).type.type;
  if (to == DType::kUndefined) return std::nullopt;
  Patch patch(context.graph, "the type is known", Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  attributes["to"].value = static_cast<int64_t>(to);
  patch.replace(node.output(0),
                patch.emit("Cast", {node.input(0)}, std::move(attributes), node.name));
  return patch;
}

} // namespace octet
