// SPDX-License-Identifier: Apache-2.0
// Softmax along one axis, LayerNormalization over the last one, where gain and bias have that axis
// alone, and normalization over groups of channels become octet's own float operators.
#include <algorithm>

#include "graph/domains.h"
#include "ops/shared/axis_split.h"
#include "passes/lower/context.h"
#include "passes/lower/group_channels.h"

namespace octet::lowering {
namespace {

bool over_last_axis(const Context& c, const Node& node, int64_t default_axis) {
  const TypeInfo& x = c.in().value(node.input(0)).type;
  if (x.type != DType::kFloat32 || !x.has_rank() || x.rank() == 0) return false;
  const int64_t axis = node.attr_int("axis", default_axis);
  return axis == -1 || axis == x.rank() - 1;
}

/// Whether a gain or bias has one element for each of x's last axis, whatever axes of size 1 there
/// are before that one.
bool is_row(const Context& c, ValueId x, ValueId part) {
  const TypeInfo& type = c.in().value(part).type;
  if (type.type != DType::kFloat32 || !type.has_rank() || type.rank() == 0) return false;
  const Dim& last = c.in().value(x).type.shape->back();
  const Dim& mine = type.shape->back();
  // A constant length above 1 broadcasts to nothing but itself.
  const bool fits = mine == last || (mine.is_constant() && mine.value() > 1);
  return fits && std::all_of(type.shape->begin(), type.shape->end() - 1,
                             [](const Dim& d) { return d == Dim(1); });
}

/// Whether `row` can bring a gain or bias, or one that is left out.
bool fits_row(const Context& c, ValueId x, ValueId part) {
  if (!part.valid()) return true;
  return is_row(c, x, part) && (c.in().value(part).type.rank() == 1 || c.constant(part));
}

/// The gain or bias with its last axis alone.
Result<ValueId> row(Context& c, ValueId part) {
  if (!part.valid() || c.in().value(part).type.rank() == 1) return c.plain(part).id;
  const Tensor values = *c.constant(part);
  return c.out().add_constant(c.in().value(part).name,
                              OCTET_TRY(values.reshaped({values.count()})));
}

Node named_after(const Node& node, const char* op_type) {
  Node made;
  made.op_type = op_type;
  made.domain = kNative;
  made.name = node.name;
  made.origin = {node.name};
  return made;
}

/// The axis along which a Softmax runs, when it is one: before operator set 13 it is all from
/// `axis` on.
std::optional<int64_t> softmax_axis(const Context& c, const Node& node) {
  const TypeInfo& x = c.in().value(node.input(0)).type;
  if (x.type != DType::kFloat32 || !x.has_rank() || x.rank() == 0) return std::nullopt;
  const AxisRange axes = axes_together(node, c.in().opset(), x.rank());
  if (axes.begin < 0 || axes.begin >= x.rank()) return std::nullopt;
  const bool one = std::all_of(x.shape->begin() + axes.begin + 1, x.shape->begin() + axes.end,
                               [](const Dim& d) { return d == Dim(1); });
  return one ? std::optional(axes.begin) : std::nullopt;
}

Result<bool> lower_softmax(Context& c, const Node& node) {
  const auto axis = softmax_axis(c, node);
  if (!axis) return false;
  Form from = c.real(node.input(0));
  if (from.layout == Layout::kFlatNhwc) from = c.plain(node.input(0));
  const int64_t rank = c.in().value(node.input(0)).type.rank();
  const int64_t stored = from.layout.stored_axis(*axis, rank);
  Node made = named_after(node, "Softmax");
  made.inputs = {from.id};
  if (stored != rank - 1) made.set("axis", stored);
  c.note(node, LowerForm::kFloat, made.op_type, "softmax runs in float");
  const ValueId y = node.outputs[0];
  c.source(y).real = from.ordered(c.emit(std::move(made), c.in().value(y).name));
  return true;
}

/// The gain or bias of a group norm with one element for each channel: before operator set 21
/// GroupNormalization has one for each group.
Result<ValueId> of_channels(Context& c, ValueId part, int64_t channels) {
  const TypeInfo& type = c.in().value(part).type;
  const auto count = (*type.shape)[0].maybe_value();
  if (!count || *count == channels || *count == 0) return c.plain(part).id;
  return c.out().add_constant(c.in().value(part).name,
                              repeated_in_groups(*c.constant(part), channels));
}

/// Whether `of_channels` can bring it.
bool fits_channels(const Context& c, ValueId part, const Dim& channels, int64_t groups) {
  const TypeInfo& type = c.in().value(part).type;
  if (type.type != DType::kFloat32 || !type.has_rank() || type.rank() != 1) return false;
  if ((*type.shape)[0] == channels) return true;
  return channels.is_constant() && groups > 0 && channels.value() % groups == 0 &&
         (*type.shape)[0] == Dim(groups) && c.constant(part);
}

Result<bool> lower_group_norm(Context& c, const Node& node) {
  const TypeInfo& x = c.in().value(node.input(0)).type;
  if (x.type != DType::kFloat32 || !x.has_rank() || x.rank() < 2) return false;
  const bool instance = node.is("InstanceNormalization");
  const int64_t groups =
      instance ? 0 : node.attr_int(node.domain == kNative ? "groups" : "num_groups", 0);
  const Dim& channels = (*x.shape)[1];
  if (node.inputs.size() != 3 || (!instance && groups < 1)) return false;
  for (size_t k = 1; k < 3; ++k)
    if (!fits_channels(c, node.input(k), channels, groups)) return false;
  // Images stay in NHWC.
  const std::optional<Form> given = c.at_hand(node.input(0));
  const Layout last = Layout::channels_last(x.rank());
  const bool stays = given && !last.is_plain() && given->layout == last;
  const Form from = stays ? c.ordered(node.input(0), last) : c.plain(node.input(0));
  Node made = named_after(node, "GroupNormalization");
  made.inputs = {from.id};
  for (size_t k = 1; k < 3; ++k)
    made.inputs.push_back(
        OCTET_TRY(of_channels(c, node.input(k), channels.maybe_value().value_or(0))));
  if (groups != 0) made.set("groups", groups);
  if (stays) made.set("channels_last", int64_t{1});
  made.set("epsilon", node.attr_float("epsilon", 1e-5F));
  c.note(node, LowerForm::kFloat, made.op_type, "a group norm runs in float");
  const ValueId y = node.outputs[0];
  c.source(y).real = from.ordered(c.emit(std::move(made), c.in().value(y).name));
  return true;
}

} // namespace

Result<bool> lower_normalization(Context& c, const Node& node) {
  if (node.is("Softmax")) return lower_softmax(c, node);
  if (node.is("InstanceNormalization") || node.is("GroupNormalization") ||
      node.is("GroupNormalization", kNative))
    return lower_group_norm(c, node);
  if (!node.is("LayerNormalization")) return false;
  if (!over_last_axis(c, node, -1)) return false;
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid()) return false;
  for (size_t k = 1; k < node.inputs.size(); ++k)
    if (!fits_row(c, node.input(0), node.inputs[k])) return false;
  Node made = named_after(node, node.op_type.c_str());
  made.inputs = {c.plain(node.input(0)).id};
  for (size_t k = 1; k < node.inputs.size(); ++k)
    made.inputs.push_back(OCTET_TRY(row(c, node.inputs[k])));
  made.set("epsilon", node.attr_float("epsilon", 1e-5F));
  c.note(node, LowerForm::kFloat, made.op_type, "layer norm runs in float");
  c.source(node.outputs[0]).real =
      Form{c.emit(std::move(made), c.in().value(node.outputs[0]).name)};
  return true;
}

} // namespace octet::lowering
