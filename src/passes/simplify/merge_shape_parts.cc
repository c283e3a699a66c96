// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Shape ─▶ Gather(i) ─▶ Unsqueeze ─▶ y      =>      x ─▶ Shape(start: i, end: i + 1) ─▶ y
//   x ─▶ Shape ─▶ Slice(a, b) ─▶ y                 =>      x ─▶ Shape(start: a, end: b) ─▶ y
// Exact. Wanted: opset 15, where Shape has them.
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

struct Part {
  ValueId x;
  int64_t start = 0, end = 0;
};

/// The Shape of a whole tensor of known rank.
const Node* whole_shape(const Graph& g, ValueId id) {
  const Node* shape = made_by(g, id, "Shape");
  if (shape == nullptr || shape->has_attr("start") || shape->has_attr("end")) return nullptr;
  return g.value(shape->input(0)).type.has_rank() ? shape : nullptr;
}

std::optional<Part> part_of(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (node.is("Unsqueeze")) {
    const Node* gather = made_by(g, node.input(0), "Gather");
    const Node* shape = gather != nullptr ? whole_shape(g, gather->input(0)) : nullptr;
    const Tensor* at = shape != nullptr ? g.constant(gather->input(1)) : nullptr;
    if (at == nullptr || at->rank() != 0) return std::nullopt;
    const int64_t rank = g.value(shape->input(0)).type.rank();
    auto i = static_cast<int64_t>(at->at(0));
    if (i < 0) i += rank;
    return Part{shape->input(0), i, i + 1};
  }
  if (!node.is("Slice")) return std::nullopt;
  const Node* shape = whole_shape(g, node.input(0));
  if (shape == nullptr) return std::nullopt;
  const auto begin = known_ints(c, node.input(1)), end = known_ints(c, node.input(2));
  if (!begin || !end || begin->size() != 1 || end->size() != 1) return std::nullopt;
  if (node.input(4).valid() && known_ints(c, node.input(4)) != std::vector<int64_t>{1})
    return std::nullopt;
  return Part{shape->input(0), (*begin)[0], (*end)[0]};
}

} // namespace

std::optional<Patch> merge_shape_parts(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (g.opset() < 15) return std::nullopt;
  const auto part = part_of(context, node);
  if (!part) return std::nullopt;
  Patch patch(g, "Shape gives a part by itself", Exactness::kExact);
  patch.from(node);
  Attributes attributes;
  attributes["start"].value = part->start;
  attributes["end"].value = part->end;
  patch.replace(node.output(0), patch.emit("Shape", {part->x}, std::move(attributes), node.name));
  return patch;
}

} // namespace octet
