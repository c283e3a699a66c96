// SPDX-License-Identifier: Apache-2.0
//   constants ─▶ Identity, Cast, ConstantOfShape, ... ─▶ scale or zero point of Q or DQ
//   => an initializer
// Exact: the reference evaluates it.
#include "core/format.h"
#include "ops/evaluate.h"
#include "repair/rules.h"
#include "targets/checks.h"

namespace octet {

std::optional<Repair> fold_parameter(const RepairContext& context, const Node& node) {
  if (!is_qdq(node)) return std::nullopt;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const ValueId in = node.input(i);
    if (!in.valid() || context.graph.constant(in) != nullptr) continue;
    const auto value = constant_value(context.graph, in);
    if (!value) continue;
    Patch patch(context.graph,
                fmt::format("the {} \"{}\" is computed from constants alone: made an initializer",
                            i == 1 ? "scale" : "zero point", context.graph.value(in).name),
                Exactness::kExact);
    patch.from(node).set_input(node.id, i,
                               patch.constant(context.graph.value(in).name + "_folded", *value));
    return Repair::exact(std::move(patch));
  }
  return std::nullopt;
}

} // namespace octet
