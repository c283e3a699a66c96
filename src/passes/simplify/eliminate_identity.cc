// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Identity ─▶ y                       =>      x
//   x ─▶ Cast(to: the type of x) ─▶ y        =>      x
//   x ─▶ Transpose(perm: 0, 1, 2, ...) ─▶ y  =>      x
//   x ─▶ Max, Min, Sum or Mean ─▶ y          =>      x      of x alone
// Exact. Kept where y is a graph output that x cannot stand in for (x is an input, a constant or
// another output).
#include "passes/simplify/rules.h"

namespace octet {

namespace {

bool does_nothing(const Graph& graph, const Node& node) {
  if (node.is("Identity")) return true;
  if (node.is("Max") || node.is("Min") || node.is("Sum") || node.is("Mean"))
    return node.inputs.size() == 1;
  if (node.is("Cast"))
    return graph.value(node.input(0)).type.type != DType::kUndefined &&
           static_cast<int64_t>(graph.value(node.input(0)).type.type) == node.attr_int("to", 0);
  if (node.is("Transpose")) {
    const std::vector<int64_t> perm = node.attr_ints("perm");
    for (size_t i = 0; i < perm.size(); ++i)
      if (perm[i] != static_cast<int64_t>(i)) return false;
    return !perm.empty();
  }
  return false;
}

} // namespace

std::optional<Patch> eliminate_identity(const RuleContext& context, const Node& node) {
  if (!does_nothing(context.graph, node)) return std::nullopt;
  const ValueId x = node.input(0);
  const ValueId y = node.output(0);
  if (!x.valid() || !y.valid() || !can_replace(context.graph, y, x)) return std::nullopt;
  Patch patch(context.graph, node.op_type + " that changes nothing", Exactness::kExact);
  patch.replace(y, x);
  return patch;
}

} // namespace octet
