// SPDX-License-Identifier: Apache-2.0
//   stored codes ─▶ Clip, Cast, Transpose, ... ─▶ DQ     =>   the codes that come out ─▶ DQ
//   float constant ─▶ Q ─▶ Clip, Cast, ... ─▶ DQ         =>   the same
// Exact: the reference evaluates it. Source: docs/targets.md 1.3 (Clip on weights of Brevitas).
#include <algorithm>

#include "ops/evaluate.h"
#include "repair/rules.h"
#include "targets/checks.h"

namespace octet {

std::optional<Repair> fold_codes(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const ValueId y = node.output(0);
  if (is_qdq(node) || node.outputs.size() != 1 || graph.is_output(y)) return std::nullopt;
  const auto uses = context.uses.of(y);
  const bool codes = std::any_of(uses.begin(), uses.end(), [&](const Uses::Use& use) {
    return use.input == 0 && is_dequantize(graph.node(use.node));
  });
  const auto value = codes ? constant_value(graph, y) : std::nullopt;
  if (!value) return std::nullopt;
  Patch patch(graph, node.op_type + " on stored codes is done once, in the file",
              Exactness::kExact);
  patch.from(node);
  patch.replace(y, patch.constant(graph.value(y).name, *value));
  return Repair::exact(std::move(patch));
}

} // namespace octet
