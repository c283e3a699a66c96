// SPDX-License-Identifier: Apache-2.0
//   x: [B, H, S, D] ─▶ Reshape([B H, S, D]) ─▶ Transpose(0, 2, 1) ─▶ Reshape([B, H, D, S]) ─▶ y
//                                                      =>    x ─▶ Transpose(0, 1, 3, 2) ─▶ y
// Exact. How the dynamo exporter turns the keys of scaled dot product attention.
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> merge_batched_transpose(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Reshape")) return std::nullopt;
  const Node* turn = made_by(g, node.input(0), "Transpose");
  const Node* flatten = turn != nullptr ? made_by(g, turn->input(0), "Reshape") : nullptr;
  if (flatten == nullptr || turn->attr_ints("perm") != std::vector<int64_t>{0, 2, 1})
    return std::nullopt;
  const auto& x = g.value(flatten->input(0)).type.shape;
  const auto& flat = g.value(flatten->output(0)).type.shape;
  const auto& y = g.value(node.output(0)).type.shape;
  if (!x || !flat || !y || x->size() < 3 || flat->size() != 3 || y->size() != x->size())
    return std::nullopt;
  const size_t rank = x->size();
  for (size_t axis = 0; axis + 2 < rank; ++axis)
    if (!((*x)[axis] == (*y)[axis])) return std::nullopt;
  const Dim &rows = (*x)[rank - 2], &columns = (*x)[rank - 1];
  if (!(rows == (*flat)[1]) || !(columns == (*flat)[2]) || !(rows == (*y)[rank - 1]) ||
      !(columns == (*y)[rank - 2]))
    return std::nullopt;
  std::vector<int64_t> perm;
  for (size_t axis = 0; axis < rank; ++axis)
    perm.push_back(static_cast<int64_t>(axis));
  std::swap(perm[rank - 2], perm[rank - 1]);
  Patch patch(g, "the reshapes only join and part the leading axes", Exactness::kExact);
  patch.from(*flatten).from(*turn).from(node);
  Attributes attributes;
  attributes["perm"].value = std::move(perm);
  patch.replace(node.output(0),
                patch.emit("Transpose", {flatten->input(0)}, std::move(attributes), turn->name));
  return patch;
}

} // namespace octet
