// SPDX-License-Identifier: Apache-2.0
//   LayerNormalization(x, gain, bias), axis before the last
//       =>    x ─▶ Reshape [..., K] ─▶ LayerNormalization over the last axis ─▶ Reshape ─▶ y
// with gain and bias as vectors of K. The sizes of the axes that are normalized are known; others
// may be open. Exact: elements keep their order.
#include <algorithm>

#include "ops/shared/movement.h"
#include "passes/lower/chains.h"
#include "passes/lower/rows_of_axes.h"

namespace octet::lowering {
namespace {

/// Whether `part_as_row` can bring a gain or bias of these sizes.
bool is_of_axes(const Graph& g, ValueId part, const std::vector<int64_t>& sizes) {
  const TypeInfo& type = g.value(part).type;
  if (type.type != DType::kFloat32 || !type.has_rank()) return false;
  const std::vector<Dim>& own = *type.shape;
  const size_t lead = own.size() > sizes.size() ? own.size() - sizes.size() : 0;
  if (!std::all_of(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(lead),
                   [](const Dim& d) { return d == Dim(1); }))
    return false;
  const bool repeats = g.constant(part) != nullptr;
  if (!repeats && own.size() - lead != sizes.size()) return false;
  for (size_t i = lead; i < own.size(); ++i) {
    const int64_t want = sizes[sizes.size() - own.size() + i];
    if (!(own[i] == Dim(want)) && !(repeats && own[i] == Dim(1))) return false;
  }
  return true;
}

/// A gain or bias as a vector, repeated where it is constant and broadcasts.
std::optional<ValueId> part_as_row(const Graph& g, RowsOfAxes& rows, Patch& patch, ValueId part) {
  const Tensor* constant = g.constant(part);
  if (constant == nullptr) return rows.vector(patch, part);
  Shape own = constant->shape();
  while (own.size() > rows.sizes().size())
    own.erase(own.begin());
  const auto all = take(*constant, {rows.length()}, broadcast_index(own, rows.sizes()));
  if (!all.ok()) return std::nullopt;
  return patch.constant(g.value(part).name + "/row", *all);
}

} // namespace

std::optional<Patch> flatten_layer_norm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("LayerNormalization") || !node.input(1).valid()) return std::nullopt;
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid()) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (x.type != DType::kFloat32 || !x.has_rank()) return std::nullopt;
  const int64_t axis = node.attr_int("axis", -1);
  auto rows = RowsOfAxes::of(x, axis < 0 ? -axis : x.rank() - axis, node.name);
  if (!rows) return std::nullopt;
  for (size_t k = 1; k < node.inputs.size(); ++k)
    if (node.inputs[k].valid() && !is_of_axes(g, node.inputs[k], rows->sizes()))
      return std::nullopt;
  Patch patch(g, "its axes side by side are the last one of a view", Exactness::kExact);
  patch.from(node);
  std::vector<ValueId> inputs = {rows->rows(patch, node.input(0))};
  for (size_t k = 1; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].valid()) continue;
    const auto part = part_as_row(g, *rows, patch, node.inputs[k]);
    if (!part) return std::nullopt;
    inputs.push_back(*part);
  }
  Attributes attributes = node.attributes;
  attributes["axis"].value = int64_t{-1};
  const ValueId y =
      patch.emit("LayerNormalization", std::move(inputs), std::move(attributes), node.name);
  patch.replace(node.outputs[0], rows->axes(patch, y));
  return patch;
}

} // namespace octet::lowering
