// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Relu ─▶ Relu ─▶ y    =>    x ─▶ Relu ─▶ y      (also Abs, Ceil, Floor, Round, Sign)
//   x ─▶ Not ─▶ Not ─▶ y      =>    x                    (also Neg)
// Exact.
#include <algorithm>
#include <array>

#include "passes/match.h"
#include "passes/rules.h"

namespace octet {

namespace {

constexpr std::array<std::string_view, 6> kIdempotent = {"Relu",  "Abs",   "Ceil",
                                                         "Floor", "Round", "Sign"};

} // namespace

std::optional<Patch> eliminate_repeated(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.domain.empty() || node.inputs.size() != 1) return std::nullopt;
  const Node* before = made_by(g, node.input(0), node.op_type);
  if (before == nullptr) return std::nullopt;
  const bool twice_is_once =
      std::find(kIdempotent.begin(), kIdempotent.end(), node.op_type) != kIdempotent.end();
  const bool cancels = node.is("Not") || node.is("Neg");
  if (!twice_is_once && !cancels) return std::nullopt;
  const ValueId stand_in = cancels ? before->input(0) : node.input(0);
  if (!can_replace(g, node.output(0), stand_in)) return std::nullopt;
  Patch patch(g, "two " + node.op_type + (cancels ? " cancel each other" : " are one"),
              Exactness::kExact);
  patch.replace(node.output(0), stand_in);
  return patch;
}

} // namespace octet
