// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample become octet's own, in whichever order the elements of x are stored: the
// operator names the axes that scales or sizes are for. Nearest moves codes as it moves numbers.
#include <numeric>

#include "graph/domains.h"
#include "ops/op.h"
#include "passes/lower/axes.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

bool is_nearest(const Node& node) {
  return node.attr_string("mode", "nearest") == "nearest";
}

/// Whether octet.native Resize does what the node asks for.
bool has_native_form(const Context& c, const Node& node) {
  const TypeInfo& x = c.in().value(node.input(0)).type;
  if (!x.has_rank() || x.type == DType::kUndefined) return false;
  if (node.attr_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
    return false;
  if (is_nearest(node)) return motion_of(node).kind == Motion::Kind::kSelect;
  return x.type == DType::kFloat32;
}

/// Whether no axis shrinks and some grows, for all that is known.
bool is_enlarged(const Context& c, const Node& node) {
  const TypeInfo& x = c.in().value(node.input(0)).type;
  const TypeInfo& y = c.in().value(node.outputs[0]).type;
  if (!x.has_rank() || !y.has_rank() || x.rank() != y.rank()) return false;
  bool grows = false;
  for (size_t i = 0; i < x.shape->size(); ++i) {
    const Dim &from = (*x.shape)[i], &to = (*y.shape)[i];
    if (!from.is_known() || !to.is_known() || !(to - from).is_never_negative()) return false;
    grows = grows || !(from == to);
  }
  return grows;
}

/// The axes that the node's scales or sizes are for, in the source's order.
std::vector<int64_t> axes_of(const Node& node, int64_t rank) {
  std::vector<int64_t> axes = node.attr_ints("axes");
  for (int64_t& axis : axes)
    axis += axis < 0 ? rank : 0;
  if (!axes.empty()) return axes;
  axes.resize(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Scales and sizes of the native node, which come after x; the older forms have no sizes.
std::vector<ValueId> lists_of(Context& c, const Node& node) {
  const int64_t version = c.in().opset("");
  if (node.is("Upsample") && version < 9) {
    std::vector<float> scales;
    for (const float s : node.attr_floats("scales"))
      scales.push_back(s);
    const auto count = static_cast<int64_t>(scales.size());
    return {c.out().add_constant(node.name + "/scales",
                                 Tensor::of<float>({count}, std::span<const float>(scales)))};
  }
  const auto plain = [&](size_t i) {
    const ValueId id = node.input(i);
    return id.valid() ? c.plain(id).id : id;
  };
  if (node.is("Upsample") || version < 11) return {plain(1)};
  return {plain(2), plain(3)};
}

} // namespace

Result<bool> lower_resize(Context& c, const Node& node) {
  if (!node.is("Resize") && !node.is("Upsample")) return false;
  if (!has_native_form(c, node)) return false;
  const ValueId x = node.input(0), y = node.outputs[0];
  const std::optional<Form> codes = is_nearest(node) ? c.codes(x) : std::nullopt;
  Form from = codes ? *codes : c.real(x);
  // What is an output alone is turned before it grows.
  const bool becomes_plain = is_enlarged(c, node) && c.uses().of(y).empty();
  if (from.layout == Layout::kFlatNhwc || becomes_plain)
    from = codes ? c.codes_plain(x) : c.plain(x);
  Node made;
  made.op_type = "Resize";
  made.domain = kNative;
  made.name = node.name;
  made.origin = {node.name};
  const bool old = node.is("Upsample") || c.in().opset("") < 11;
  if (!old) made.attributes = node.attributes;
  if (old) {
    made.set("mode", node.attr_string("mode", "nearest"));
    made.set("coordinate_transformation_mode", std::string("asymmetric"));
    made.set("nearest_mode", std::string("floor"));
  }
  const int64_t rank = c.in().value(x).type.rank();
  made.set("axes", stored_axes(from.layout, axes_of(node, rank), rank));
  made.inputs = {from.id};
  for (const ValueId list : lists_of(c, node))
    made.inputs.push_back(list);
  const Form result = from.ordered(c.emit(std::move(made), c.in().value(y).name));
  if (codes)
    c.set_codes(y, result, c.source(x).quant);
  else
    c.source(y).real = result;
  c.note(node, codes ? LowerForm::kCodes : LowerForm::kFloat,
         codes ? node.op_type + " on codes" : node.op_type);
  return true;
}

} // namespace octet::lowering
