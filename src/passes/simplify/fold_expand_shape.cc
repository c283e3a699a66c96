// SPDX-License-Identifier: Apache-2.0
//   x: f32[N, 1, S] ─▶ Expand([N, 4, S]) ─▶ y      =>      x ─▶ Expand([1, 4, 1]) ─▶ y
// Exact: where x has the size already, 1 expands nothing. Wanted: the other sizes are constant.
#include "graph/edit.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fold_expand_shape(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Expand") || g.constant(node.input(1)) != nullptr) return std::nullopt;
  const auto found = context.elements.find(node.input(1));
  const TypeInfo& x = g.value(node.input(0)).type;
  if (found == context.elements.end() || !x.shape) return std::nullopt;
  const std::vector<Dim>& wanted = found->second;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t missing = wanted.size() - std::min(wanted.size(), x.shape->size());
    const size_t offset = x.shape->size() - std::min(wanted.size(), x.shape->size());
    if (i >= missing && wanted[i] == (*x.shape)[i - missing + offset]) {
      sizes.push_back(1);
    } else if (wanted[i].is_constant()) {
      sizes.push_back(wanted[i].value());
    } else {
      return std::nullopt;
    }
  }
  Patch patch(g, "the open sizes are the input's own", Exactness::kExact);
  patch.from(node);
  const ValueId constant = patch.constant(g.value(node.output(0)).name + "/shape", int_list(sizes));
  patch.replace(node.output(0), patch.emit("Expand", {node.input(0), constant}, {}, node.name));
  return patch;
}

} // namespace octet
