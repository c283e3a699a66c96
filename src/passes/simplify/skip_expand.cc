// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Expand(shape) ─▶ Add(z) ─▶ y      =>      x ─▶ Add(z) ─▶ y
//        (also Sub, Mul, Div, Where and all that broadcasts)
// Exact. Wanted: the other operands alone give the result its shape, so that x is broadcast anyway.
#include <algorithm>

#include "ops/op.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

/// Whether some size of the result comes from `id`: it is not 1 there.
bool gives(const TypeInfo& type, const std::vector<Dim>& result, size_t axis) {
  const size_t missing = result.size() - std::min(result.size(), type.shape->size());
  return axis >= missing && (*type.shape)[axis - missing] == result[axis];
}

} // namespace

std::optional<Patch> skip_expand(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!facts_of(node).broadcasts) return std::nullopt;
  const auto& result = g.value(node.output(0)).type.shape;
  if (!result) return std::nullopt;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Node* expand = made_by(g, node.inputs[i], "Expand");
    if (expand == nullptr || !g.value(expand->input(0)).type.shape) continue;
    if (g.value(expand->input(0)).type.rank() > static_cast<int64_t>(result->size())) continue;
    bool needless = true;
    for (size_t axis = 0; axis < result->size() && needless; ++axis) {
      bool given = gives(g.value(expand->input(0)).type, *result, axis);
      for (size_t k = 0; k < node.inputs.size() && !given; ++k)
        given = k != i && g.value(node.inputs[k]).type.shape &&
                gives(g.value(node.inputs[k]).type, *result, axis);
      needless = given;
    }
    if (!needless) continue;
    Patch patch(g, node.op_type + " broadcasts by itself", Exactness::kExact);
    patch.set_input(node.id, i, expand->input(0));
    return patch;
  }
  return std::nullopt;
}

} // namespace octet
