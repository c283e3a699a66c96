// SPDX-License-Identifier: Apache-2.0
// Concat and Split stay in the order in which their operands are stored, and on codes:
//   DQ, DQ ─ Concat            of one grid becomes Concat on codes
//   DQ, DQ ─ Concat ─ Q        of several becomes tables to the grid of Q, and Concat on codes
#include <algorithm>

#include "graph/domains.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// In [0, rank); -1 where it is none.
int64_t axis_of(const Node& node, int64_t otherwise, int64_t rank) {
  const int64_t axis = node.attr_int("axis", otherwise);
  const int64_t from_start = axis < 0 ? axis + rank : axis;
  return from_start < rank ? from_start : -1;
}

/// The order that most operands have; constants and flattened images have none.
Layout most_common(const Context& c, const Node& node) {
  std::vector<Layout> layouts;
  for (const ValueId id : node.inputs)
    if (const auto form = c.at_hand(id); form && !c.is_constant(id))
      layouts.push_back(form->layout);
  Layout best = Layout::kPlain;
  std::ptrdiff_t most = 0;
  for (const Layout& layout : layouts)
    if (const auto count = std::count(layouts.begin(), layouts.end(), layout); count > most) {
      most = count;
      best = layout;
    }
  return best;
}

/// The grid of all operands, which are codes; nullopt where there is none such.
std::optional<qdq::Grid> one_grid(Context& c, const Node& node) {
  for (const ValueId id : node.inputs)
    if (!c.codes(id) ||
        !qdq::same(c.source(id).quant, c.source(node.inputs[0]).quant, qdq::Same::kNumbers))
      return std::nullopt;
  return c.source(node.inputs[0]).quant;
}

/// Codes of an operand on another grid.
ValueId on_grid(
    Context& c, const Node& node, ValueId operand, const qdq::Grid& grid, const Layout& layout) {
  const Form codes = c.codes_ordered(operand, layout);
  const qdq::Grid from = c.source(operand).quant;
  if (qdq::same(from, grid, qdq::Same::kNumbers)) return codes.id;
  Node table;
  table.domain = kNative;
  table.op_type = "QTable";
  table.name = node.name;
  table.origin = {node.name};
  table.inputs = {codes.id, c.out().add_constant(node.name + "/table", rescale_table(from, grid))};
  return c.emit(std::move(table), c.in().value(operand).name + "/rescaled");
}

/// Of codes; false where they are not, or no grid is theirs.
bool concat_codes(Context& c, const Node& node, Node made, const Layout& layout) {
  const ValueId y = node.outputs[0];
  for (const ValueId id : node.inputs)
    if (!c.codes(id) || c.codes(id)->layout.is_flat()) return false;
  if (const auto grid = one_grid(c, node)) {
    for (const ValueId id : node.inputs)
      made.inputs.push_back(c.codes_ordered(id, layout).id);
    c.set_codes(y, Form{c.emit(std::move(made), c.in().value(y).name), layout}, *grid);
    c.note(node, LowerForm::kCodes, "Concat on codes");
    return true;
  }
  const Epilogue e = c.epilogue(y, false);
  if (e.to == DType::kFloat32 || !e.absorbed.empty()) return false;
  for (const ValueId id : node.inputs)
    made.inputs.push_back(on_grid(c, node, id, e.quant, layout));
  const ValueId named = c.in().node(e.quantizers[0]).outputs[0];
  c.settle(node, e, Form{c.emit(std::move(made), c.in().value(named).name), layout});
  c.note(node, LowerForm::kCodes, "Concat on codes");
  return true;
}

bool concat(Context& c, const Node& node) {
  const TypeInfo& type = c.in().value(node.outputs[0]).type;
  if (!type.has_rank() || type.rank() > Layout::kMaxRank) return false;
  const Layout layout = most_common(c, node);
  const int64_t axis = axis_of(node, 1, type.rank());
  if (axis < 0) return false;
  Node made = node;
  made.outputs.clear();
  made.inputs.clear();
  made.origin = {node.name};
  made.set("axis", layout.stored_axis(axis, type.rank()));
  if (concat_codes(c, node, made, layout)) return true;
  for (const ValueId id : node.inputs)
    made.inputs.push_back(c.ordered(id, layout).id);
  c.source(node.outputs[0]).real =
      Form{c.emit(std::move(made), c.in().value(node.outputs[0]).name), layout};
  c.note(node, LowerForm::kFloat, "Concat");
  return true;
}

bool split(Context& c, const Node& node) {
  const ValueId x = node.input(0);
  const TypeInfo& type = c.in().value(x).type;
  const std::optional<Form> from = c.at_hand(x);
  if (!from || !type.has_rank() || type.rank() > Layout::kMaxRank) return false;
  const int64_t axis = axis_of(node, 0, type.rank());
  if (axis < 0) return false;
  Node made = node;
  made.outputs.clear();
  made.origin = {node.name};
  made.inputs[0] = from->id;
  if (node.input(1).valid()) made.inputs[1] = c.plain(node.input(1)).id;
  made.set("axis", from->layout.stored_axis(axis, type.rank()));
  const bool codes = c.codes(x).has_value();
  for (const ValueId id : node.outputs) {
    if (!id.valid()) {
      made.outputs.push_back(id);
      continue;
    }
    const Value& v = c.in().value(id); // its declared type may be all that tells its shape
    const ValueId part = from->layout.is_plain() && !codes ? c.out().add_value(v.name, v.type)
                                                           : c.out().add_value(v.name);
    made.outputs.push_back(part);
    if (codes)
      c.set_codes(id, from->ordered(part), c.source(x).quant);
    else
      c.source(id).real = from->ordered(part);
  }
  c.out().add_node(std::move(made));
  c.note(node, codes ? LowerForm::kCodes : LowerForm::kFloat, codes ? "Split on codes" : "Split");
  return true;
}

} // namespace

Result<bool> lower_joint(Context& c, const Node& node) {
  if (node.is("Concat") && !node.inputs.empty()) return concat(c, node);
  if (node.is("Split")) return split(c, node);
  return false;
}

} // namespace octet::lowering
