// SPDX-License-Identifier: Apache-2.0
// Reductions, ArgMax and ArgMin keep the order of what they read: their axes are named by where they
// are stored. ReduceMax and ReduceMin run on codes: the largest code is the largest number.
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

/// Whether the best of codes is the code of the best number, and no slower to find. Over nothing it
/// is infinite, which no code stands for; short rows are found faster in floats, 16 at once.
bool best_on_codes(const Context& c,
                   const Node& node,
                   const Form& x,
                   std::span<const int64_t> axes) {
  constexpr int64_t kShortRow = 16;
  if ((!node.is("ReduceMax") && !node.is("ReduceMin")) || !c.codes(node.input(0))) return false;
  const TypeInfo& type = c.in().value(node.input(0)).type;
  const auto size = [&](int64_t axis) { // 0: open
    return (*type.shape)[static_cast<size_t>(axis)].maybe_value().value_or(0);
  };
  const auto goes = [&](int64_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  if (!std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return size(axis) > 0; }))
    return false;
  int64_t row = 1;
  const std::vector<int64_t> stored = x.layout.axes(type.rank());
  for (size_t k = stored.size(); k-- > 0 && goes(stored[k]);)
    row *= size(stored[k]);
  return row == 1 || row >= kShortRow;
}

} // namespace

Result<bool> lower_reduction(Context& c, const Node& node) {
  const ValueId x = node.input(0);
  if (!x.valid()) return false;
  const TypeInfo& type = c.in().value(x).type;
  std::optional<Form> from = c.at_hand(x);
  if (!from || !type.has_rank() || type.rank() > Layout::kMaxRank) return false;
  const auto axes = reduced_axes(c, node, type.rank());
  if (!axes) return false;
  const bool codes = best_on_codes(c, node, *from, *axes);
  if (from->layout.is_plain() && !codes) return false;
  if (!codes) from = c.real(x);
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
  if (codes) {
    c.set_moved(node, x, node.outputs[0], y);
    return true;
  }
  c.source(node.outputs[0]).real = y;
  c.note(node, LowerForm::kFloat, node.op_type);
  return true;
}

} // namespace octet::lowering
