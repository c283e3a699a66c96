// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/clamp.h"

#include <limits>
#include <utility>

namespace octet::qdq {

std::optional<Clamp> clamp_of(const Graph& graph, const Node& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.is("Relu")) return Clamp{0, kInfinity};
  if (!node.is("Clip")) return std::nullopt;
  Clamp out{node.attr_float("min", -kInfinity), node.attr_float("max", kInfinity)};
  for (const auto& [input, bound] : {std::pair{size_t{1}, &out.lo}, {size_t{2}, &out.hi}}) {
    if (!node.input(input).valid()) continue;
    const Tensor* t = graph.constant(node.input(input));
    if (t == nullptr || t->count() != 1) return std::nullopt;
    *bound = t->at(0);
  }
  return out;
}

bool saturation_does(const Grid& grid, const Clamp& clamp) {
  const auto range = grid.code_range();
  return range && grid.per_tensor() && unclamped_code(grid, clamp.lo) <= range->lo &&
         unclamped_code(grid, clamp.hi) >= range->hi;
}

} // namespace octet::qdq
