// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Relu ─▶ Relu ─▶ y    =>    x ─▶ Relu ─▶ y      (also Abs, Ceil, Floor, Round, Sign)
//   x ─▶ Not ─▶ Not ─▶ y      =>    x                    (also Neg, BitwiseNot)
// Exact.
#include "ops/op.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> eliminate_repeated(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.domain.empty() || node.inputs.size() != 1) return std::nullopt;
  const Node* before = made_by(g, node.input(0), node.op_type);
  if (before == nullptr) return std::nullopt;
  const Facts facts = facts_of(node);
  if (!facts.idempotent && !facts.involution) return std::nullopt;
  const bool cancels = facts.involution;
  const ValueId stand_in = cancels ? before->input(0) : node.input(0);
  if (!can_replace(g, node.output(0), stand_in)) return std::nullopt;
  Patch patch(g, "two " + node.op_type + (cancels ? " cancel each other" : " are one"),
              Exactness::kExact);
  patch.replace(node.output(0), stand_in);
  return patch;
}

} // namespace octet
