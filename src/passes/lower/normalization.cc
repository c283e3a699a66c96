// SPDX-License-Identifier: Apache-2.0
// Softmax and LayerNormalization over the last axis become octet's own float operators, the latter
// where gain and bias have that axis alone.
#include <algorithm>

#include "graph/domains.h"
#include "passes/lower/context.h"

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

} // namespace

Result<bool> lower_normalization(Context& c, const Node& node) {
  const bool softmax = node.is("Softmax");
  if (!softmax && !node.is("LayerNormalization")) return false;
  const int64_t otherwise = softmax && c.in().opset() < 13 ? 1 : -1;
  if (!over_last_axis(c, node, otherwise)) return false;
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid()) return false;
  const size_t parts = softmax ? 1 : node.inputs.size();
  for (size_t k = 1; k < parts; ++k)
    if (!fits_row(c, node.input(0), node.inputs[k])) return false;
  Node made;
  made.op_type = node.op_type;
  made.domain = kNative;
  made.name = node.name;
  made.origin = {node.name};
  made.inputs = {c.plain(node.input(0)).id};
  for (size_t k = 1; k < parts; ++k)
    made.inputs.push_back(OCTET_TRY(row(c, node.inputs[k])));
  if (!softmax) made.set("epsilon", node.attr_float("epsilon", 1e-5F));
  c.note(node, LowerForm::kFloat, made.op_type,
         softmax ? "softmax runs in float" : "layer norm runs in float");
  c.source(node.outputs[0]).real =
      Form{c.emit(std::move(made), c.in().value(node.outputs[0]).name)};
  return true;
}

} // namespace octet::lowering
