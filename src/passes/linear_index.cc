// SPDX-License-Identifier: Apache-2.0
#include "passes/linear_index.h"

#include <algorithm>

#include "passes/match.h"
#include "passes/reshape_target.h"

namespace octet {
namespace {

constexpr int kDeepestIndex = 12;

std::optional<LinearIndex> index_of(const RuleContext& c, ValueId id, int depth);

bool is_int(const RuleContext& c, ValueId id, int64_t want) {
  const auto ints = known_ints(c, id);
  return ints && ints->size() == 1 && (*ints)[0] == want;
}

/// The scalar that a value holds, open or not.
std::optional<Dim> scalar(const RuleContext& c, ValueId id) {
  if (const auto ints = known_ints(c, id))
    return ints->size() == 1 ? std::optional<Dim>((*ints)[0]) : std::nullopt;
  const auto found = c.elements.find(id);
  if (found == c.elements.end() || found->second.size() != 1) return std::nullopt;
  return found->second[0];
}

std::optional<LinearIndex> of_range(const RuleContext& c, const Node& node) {
  if (!is_int(c, node.input(0), 0) || !is_int(c, node.input(2), 1)) return std::nullopt;
  const auto length = scalar(c, node.input(1));
  if (!length) return std::nullopt;
  return LinearIndex{{*length}, {{0, Dim(1)}}};
}

/// Constants that count along one axis, or are 0 throughout.
std::optional<LinearIndex> iota_of(const Tensor& t) {
  if (!is_integer(t.type()) || t.rank() > 1 || t.count() > (int64_t{1} << 20)) return std::nullopt;
  LinearIndex out;
  for (const int64_t d : t.shape())
    out.shape.emplace_back(d);
  for (int64_t i = 0; i < t.count(); ++i)
    if (t.at(i) != static_cast<double>(t.rank() == 0 ? 0 : i)) return std::nullopt;
  if (t.rank() == 1) out.strides[0] = Dim(1);
  return out;
}

/// The same elements under a shape that only adds or drops axes of size 1.
std::optional<LinearIndex> under_shape(LinearIndex x, const std::vector<Dim>& shape) {
  LinearIndex out{shape, {}};
  size_t from = 0;
  for (size_t to = 0; to < shape.size(); ++to) {
    if (shape[to] == Dim(1)) continue;
    while (from < x.shape.size() && x.shape[from] == Dim(1))
      ++from;
    if (from == x.shape.size() || !(x.shape[from] == shape[to])) return std::nullopt;
    if (const auto stride = x.strides.find(from); stride != x.strides.end())
      out.strides[to] = stride->second;
    ++from;
  }
  while (from < x.shape.size())
    if (!(x.shape[from++] == Dim(1))) return std::nullopt;
  return out;
}

/// Broadcast to a shape.
std::optional<LinearIndex> widened(const LinearIndex& x, const std::vector<Dim>& shape) {
  if (x.shape.size() > shape.size()) return std::nullopt;
  const size_t missing = shape.size() - x.shape.size();
  LinearIndex out{shape, {}};
  for (size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (x.shape[axis] == Dim(1)) continue;
    if (!(x.shape[axis] == shape[axis + missing])) return std::nullopt;
    if (const auto stride = x.strides.find(axis); stride != x.strides.end())
      out.strides[axis + missing] = stride->second;
  }
  return out;
}

std::optional<LinearIndex>
of_sum(const RuleContext& c, const Node& node, const std::vector<Dim>& shape, int depth) {
  LinearIndex out{shape, {}};
  for (const ValueId in : node.inputs) {
    const auto part = index_of(c, in, depth + 1);
    const auto wide = part ? widened(*part, shape) : std::nullopt;
    if (!wide) return std::nullopt;
    for (const auto& [axis, stride] : wide->strides) {
      const auto found = out.strides.find(axis);
      out.strides[axis] = found == out.strides.end() ? stride : found->second + stride;
    }
  }
  return out;
}

std::optional<LinearIndex> of_product(const RuleContext& c, const Node& node, int depth) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto factor = scalar(c, node.inputs[side]);
    auto x = factor ? index_of(c, node.inputs[1 - side], depth + 1) : std::nullopt;
    if (!x) continue;
    for (auto& [axis, stride] : x->strides)
      stride = stride * *factor;
    return x;
  }
  return std::nullopt;
}

std::optional<LinearIndex> index_of(const RuleContext& c, ValueId id, int depth) {
  const Graph& g = c.graph;
  if (!id.valid() || depth > kDeepestIndex) return std::nullopt;
  if (const Tensor* t = g.constant(id)) return iota_of(*t);
  const Node* node = g.producer(id);
  const auto& shape = g.value(id).type.shape;
  if (node == nullptr || !node->domain.empty() || !shape) return std::nullopt;
  if (node->is("Range")) return of_range(c, *node);
  if (node->is("Add") && node->inputs.size() == 2) return of_sum(c, *node, *shape, depth);
  if (node->is("Mul") && node->inputs.size() == 2) {
    const auto x = of_product(c, *node, depth);
    return x ? widened(*x, *shape) : std::nullopt;
  }
  if (node->is("Cast") && is_integer(g.value(id).type.type))
    return index_of(c, node->input(0), depth + 1);
  if (!only_reshapes(*node) && !node->is("Expand")) return std::nullopt;
  const auto x = index_of(c, node->input(0), depth + 1);
  if (!x) return std::nullopt;
  return node->is("Expand") ? widened(*x, *shape) : under_shape(*x, *shape);
}

} // namespace

std::optional<LinearIndex> linear_index(const RuleContext& context, ValueId id) {
  return index_of(context, id, 0);
}

} // namespace octet
