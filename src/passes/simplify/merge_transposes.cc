// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Transpose(p) ─▶ Transpose(q) ─▶ y    =>    x ─▶ Transpose(p[q]) ─▶ y, or x
// Exact.
#include <numeric>

#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

/// The permutation; reversed axes when none is given.
std::optional<std::vector<int64_t>> permutation_of(const Graph& g, const Node& node) {
  std::vector<int64_t> perm = node.attr_ints("perm");
  if (!perm.empty()) return perm;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!x.has_rank()) return std::nullopt;
  perm.resize(static_cast<size_t>(x.rank()));
  std::iota(perm.rbegin(), perm.rend(), int64_t{0});
  return perm;
}

} // namespace

std::optional<Patch> merge_transposes(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Transpose")) return std::nullopt;
  const Node* before = made_by(g, node.input(0), "Transpose");
  if (before == nullptr) return std::nullopt;
  const auto p = permutation_of(g, *before), q = permutation_of(g, node);
  if (!p || !q || p->size() != q->size()) return std::nullopt;
  std::vector<int64_t> both;
  for (const int64_t axis : *q) {
    if (axis < 0 || axis >= static_cast<int64_t>(p->size())) return std::nullopt;
    both.push_back((*p)[static_cast<size_t>(axis)]);
  }
  bool identity = true;
  for (size_t i = 0; i < both.size(); ++i)
    identity = identity && both[i] == static_cast<int64_t>(i);
  const ValueId x = before->input(0), y = node.output(0);
  Patch patch(g, identity ? "the second transpose undoes the first" : "two transposes are one",
              Exactness::kExact);
  if (identity && can_replace(g, y, x)) {
    patch.replace(y, x);
    return patch;
  }
  Attributes attributes;
  attributes["perm"].value = std::move(both);
  patch.from(*before).from(node);
  patch.replace(y, patch.emit("Transpose", {x}, std::move(attributes), node.name));
  return patch;
}

} // namespace octet
