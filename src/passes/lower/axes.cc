// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/axes.h"

#include <algorithm>

namespace octet::lowering {

std::optional<std::vector<int64_t>> known_integers(const Context& c, ValueId id) {
  const Tensor* given = id.valid() ? c.in().constant(id) : nullptr;
  if (!given || given->rank() > 1) return std::nullopt;
  const Tensor t = given->aligned();
  if (t.type() == DType::kInt64)
    return std::vector<int64_t>(t.data<int64_t>().begin(), t.data<int64_t>().end());
  if (t.type() == DType::kInt32)
    return std::vector<int64_t>(t.data<int32_t>().begin(), t.data<int32_t>().end());
  return std::nullopt;
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
    made.inputs[input] = c.out().add_constant(made.name + "/axes", index_tensor(axes));
  else
    made.set("axes", axes);
}

Tensor index_tensor(std::span<const int64_t> values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

} // namespace octet::lowering
