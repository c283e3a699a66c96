// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Reshape | Flatten | Squeeze | Unsqueeze ─▶ the same again ─▶ y
//                                                    =>    x ─▶ Reshape(constant) ─▶ y, or x
// Exact. Wanted: the shape of y is known but for one size, or sizes that x has in the same place.
// Where neither has a -1, not both of these: it says nothing of a tensor without elements.
#include <algorithm>

#include "graph/edit.h"
#include "passes/match.h"
#include "passes/reshape_target.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> merge_reshapes(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!only_reshapes(node) || g.opset() < 5) return std::nullopt;
  const Node* before = node.input(0).valid() ? g.producer(node.input(0)) : nullptr;
  if (before == nullptr || !only_reshapes(*before)) return std::nullopt;
  const ValueId x = before->input(0), y = node.output(0);
  const TypeInfo& from = g.value(x).type;
  const TypeInfo& to = g.value(y).type;
  if (same_type(from, to) && can_replace(g, y, x)) {
    Patch patch(g, "the second reshape undoes the first", Exactness::kExact);
    patch.replace(y, x);
    return patch;
  }
  if (!to.shape || !from.shape) return std::nullopt;
  const auto target = reshape_target(from, *to.shape);
  if (!target) return std::nullopt;
  const auto holds = [](const std::vector<int64_t>& sizes, int64_t size) {
    return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
  };
  const auto names_all = [&](const Node& reshape) {
    const auto sizes =
        reshape.is("Reshape") ? ints_of(context, reshape, "shape", 1) : std::vector<int64_t>();
    return sizes && !holds(*sizes, -1);
  };
  if (holds(*target, 0) && holds(*target, -1) && names_all(node) && names_all(*before))
    return std::nullopt;
  Patch patch(g, "two reshapes are one", Exactness::kExact);
  patch.from(*before).from(node);
  const ValueId sizes = patch.constant(g.value(y).name + "/shape", int_list(*target));
  patch.replace(y, patch.emit("Reshape", {x, sizes}, {}, node.name));
  return patch;
}

} // namespace octet
