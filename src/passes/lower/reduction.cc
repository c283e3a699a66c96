// SPDX-License-Identifier: Apache-2.0
// Reductions, ArgMax and ArgMin keep the order of what they read: their axes are named by where they
// are stored.
#include <algorithm>
#include <array>

#include "passes/lower/axes.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr std::array<std::string_view, 10> kReductions = {
    "ReduceSum", "ReduceMean",      "ReduceMax", "ReduceMin",    "ReduceProd",
    "ReduceL1",  "ReduceSumSquare", "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp"};

/// The axes in [0, rank); nullopt: they are not known, or all are meant.
std::optional<std::vector<int64_t>> reduced_axes(const Context& c, const Node& node, int64_t rank) {
  if (node.is("ArgMax") || node.is("ArgMin")) {
    const int64_t axis = node.attr_int("axis", 0);
    const int64_t from_start = axis < 0 ? axis + rank : axis;
    if (from_start < 0 || from_start >= rank) return std::nullopt;
    return std::vector<int64_t>{from_start};
  }
  if (!node.domain.empty() ||
      std::find(kReductions.begin(), kReductions.end(), node.op_type) == kReductions.end())
    return std::nullopt;
  auto axes = known_axes(c, node, 1, rank);
  if (axes && axes->empty()) return std::nullopt;
  return axes;
}

} // namespace

Result<bool> lower_reduction(Context& c, const Node& node) {
  const ValueId x = node.input(0);
  if (!x.valid()) return false;
  const TypeInfo& type = c.in().value(x).type;
  std::optional<Form> from = c.at_hand(x);
  if (!from || from->layout.is_plain() || !type.has_rank()) return false;
  const auto axes = reduced_axes(c, node, type.rank());
  if (!axes) return false;
  from = c.real(x);
  Node made = node;
  made.outputs.clear();
  made.origin = {node.name};
  made.inputs[0] = from->id;
  const std::vector<int64_t> stored = stored_axes(from->layout, *axes, type.rank());
  if (node.is("ArgMax") || node.is("ArgMin"))
    made.set("axis", stored[0]);
  else
    set_axes(c, made, 1, stored);
  const bool keeps = node.attr_int("keepdims", 1) != 0;
  const Form y{c.emit(std::move(made), c.in().value(node.outputs[0]).name),
               keeps ? from->layout : from->layout.without(*axes, type.rank())};
  c.source(node.outputs[0]).real = y;
  c.note(node, LowerForm::kFloat, node.op_type);
  return true;
}

} // namespace octet::lowering
