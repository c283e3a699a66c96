// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/axes.h"

#include <algorithm>

#include "graph/edit.h"

namespace octet::lowering {

std::optional<std::vector<int64_t>> known_integers(const Context& c, ValueId id) {
  const Tensor* given = id.valid() ? c.in().constant(id) : nullptr;
  if (!given || given->rank() > 1) return std::nullopt;
  if (given->type() != DType::kInt64 && given->type() != DType::kInt32) return std::nullopt;
  auto elements = given->to_ints();
  return elements.ok() ? std::optional(*std::move(elements)) : std::nullopt;
}

std::optional<std::vector<int64_t>>
known_axes(const Context& c, const Node& node, size_t input, int64_t rank) {
  std::optional<std::vector<int64_t>> axes;
  if (node.input(input).valid())
    axes = known_integers(c, node.input(input));
  else
    axes = node.attr_ints("axes");
  if (!axes) return std::nullopt;
  std::vector<int64_t> seen;
  for (int64_t& axis : *axes) {
    if (axis < 0) axis += rank;
    const bool twice = std::find(seen.begin(), seen.end(), axis) != seen.end();
    if (axis < 0 || axis >= rank || twice) return std::nullopt;
    seen.push_back(axis);
  }
  return axes;
}

std::vector<int64_t>
stored_axes(const Layout& layout, std::span<const int64_t> axes, int64_t rank) {
  std::vector<int64_t> out;
  for (const int64_t axis : axes)
    out.push_back(layout.stored_axis(axis, rank));
  return out;
}

void set_axes(Context& c, Node& made, size_t input, const std::vector<int64_t>& axes) {
  if (made.input(input).valid())
    made.inputs[input] = c.out().add_constant(made.name + "/axes", int_list(axes));
  else
    made.set("axes", axes);
}

} // namespace octet::lowering
