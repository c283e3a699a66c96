// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/clamp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/qdq/site.h"

namespace octet::qdq {

std::optional<Clamp> clamp_of(const Graph& graph, const Node& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.is("Relu")) return Clamp{0, static_cast<double>(kInfinity)};
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

std::optional<CodeRange> clamped_range(const Graph& graph, const Node& clamp, CodeRange all) {
  const auto bounds = clamp_of(graph, clamp);
  if (!bounds) return std::nullopt;
  const double lo = std::max<double>(all.lo, bounds->lo), hi = std::min<double>(all.hi, bounds->hi);
  if (!(lo <= hi)) return std::nullopt;
  return CodeRange{static_cast<int32_t>(lo), static_cast<int32_t>(hi)};
}

Clamp numbers_of(const Grid& grid, CodeRange range) {
  const double s = grid.scale_at(0), z = grid.zero_at(0);
  return {(range.lo - z) * s, (range.hi - z) * s};
}

bool are_floats(const Clamp& clamp) {
  return std::isfinite(static_cast<float>(clamp.lo)) && std::isfinite(static_cast<float>(clamp.hi));
}

bool saturation_does(const Grid& grid, const Clamp& clamp) {
  const auto range = grid.code_range();
  return range && grid.per_tensor() && unclamped_code(grid, clamp.lo) <= range->lo &&
         unclamped_code(grid, clamp.hi) >= range->hi;
}

bool clamps_codes(const Graph& graph, const Node& node) {
  if (!node.is("Relu") && !node.is("Clip")) return false;
  const Node* before = graph.producer(node.input(0));
  return before != nullptr && is_quantize(*before);
}

const Node* clamp_behind(const Graph& graph, const Uses& uses, ValueId codes) {
  const NodeId reader = uses.single_consumer(codes);
  if (!reader.valid()) return nullptr;
  const Node& node = graph.node(reader);
  return node.input(0) == codes && clamps_codes(graph, node) ? &node : nullptr;
}

} // namespace octet::qdq
