// SPDX-License-Identifier: Apache-2.0
//   Range(0, n) >= 0, and x      =>      x
// Exact: a range that counts up from 0 is nowhere below a constant of 0 or less. Kept where the
// comparison makes the result larger than x and someone would notice. Left by transformers' masks.
#include "passes/linear_index.h"
#include "passes/match.h"
#include "passes/simplify/only_broadcast.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

/// A constant or a comparison that holds for every element, whatever the sizes.
bool always_holds(const RuleContext& context, ValueId id) {
  const Graph& g = context.graph;
  if (const Tensor* t = g.constant(id)) return t->type() == DType::kBool && all_equal(*t, 1);
  const Node* compare = made_by(g, id, "GreaterOrEqual");
  if (compare == nullptr) return false;
  const auto bound = known_ints(context, compare->input(1));
  return bound && bound->size() == 1 && (*bound)[0] <= 0 &&
         linear_index(context, compare->input(0)).has_value();
}

} // namespace

std::optional<Patch> eliminate_true(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("And") || node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ValueId x = node.inputs[1 - side], y = node.output(0);
    if (!always_holds(context, node.inputs[side]) || !can_replace(g, y, x)) continue;
    if (!same_type(g.value(x).type, g.value(y).type) &&
        (g.is_output(y) || !only_broadcast(g, context.uses, y)))
      continue;
    Patch patch(g, "the other operand is true everywhere", Exactness::kExact);
    patch.replace(y, x);
    if (!same_type(g.value(x).type, g.value(y).type)) patch.narrow();
    return patch;
  }
  return std::nullopt;
}

} // namespace octet
