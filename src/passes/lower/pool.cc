// SPDX-License-Identifier: Apache-2.0
// Pools over images, in NHWC:
//   DQ ─ MaxPool            runs on the codes: the largest code is the largest number; stored
//                           ones as well
//   DQ ─ AveragePool ─ Q    becomes QAveragePool
//   x  ─ AveragePool        becomes native AveragePool
#include "graph/domains.h"
#include "ops/qdq/quant_layout.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

std::vector<int64_t> or_else(std::vector<int64_t> v, std::vector<int64_t> otherwise) {
  if (v.empty()) return otherwise;
  return v;
}

/// Whether some window may lie wholly in the padding: its largest element is then that of nothing,
/// for which there is no code.
bool may_miss_the_image(const Node& node) {
  const std::vector<int64_t> kernel = node.attr_ints("kernel_shape"), pads = node.attr_ints("pads"),
                             dilations = node.attr_ints("dilations");
  const bool same = node.attr_string("auto_pad", "NOTSET").starts_with("SAME");
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    const bool dilated = axis < dilations.size() && dilations[axis] > 1;
    if (dilated && same) return true;
    for (size_t i = axis; i < pads.size(); i += kernel.size())
      if (pads[i] >= kernel[axis] || (dilated && pads[i] > 0)) return true;
  }
  return false;
}

/// The window's attributes; false when the node has a form that the native pools do not take.
bool window(const Node& node, Node& to) {
  const std::vector<int64_t> kernel = node.attr_ints("kernel_shape");
  if (kernel.size() != 2) return false;
  to.set("kernel_shape", kernel);
  to.set("strides", or_else(node.attr_ints("strides"), {1, 1}));
  to.set("dilations", or_else(node.attr_ints("dilations"), {1, 1}));
  const std::string mode = node.attr_string("auto_pad", "NOTSET");
  if (mode.starts_with("SAME"))
    to.set("auto_pad", mode);
  else
    to.set("pads", mode == "VALID" ? std::vector<int64_t>{0, 0, 0, 0}
                                   : or_else(node.attr_ints("pads"), {0, 0, 0, 0}));
  if (node.attr_int("ceil_mode", 0) != 0) to.set("ceil_mode", 1);
  if (!node.is("MaxPool"))
    to.set("count_include_pad", node.attr_int("count_include_pad", 0) != 0 ? 1 : 0);
  return true;
}

Result<bool> max_pool(Context& c, const Node& node, Node made) {
  made.op_type = "MaxPool";
  const ValueId x = node.input(0), y = node.outputs[0];
  if (c.codes(x) && !may_miss_the_image(node)) {
    made.inputs = {c.codes_nhwc(x).id};
    const ValueId id = c.emit(std::move(made), c.in().value(y).name);
    c.set_codes(y, Form{id, Layout::kNhwc}, c.source(x).quant);
    c.note(node, LowerForm::kCodes, "MaxPool on codes");
    return true;
  }
  made.inputs = {c.nhwc(x).id};
  c.source(y).real = Form{c.emit(std::move(made), c.in().value(y).name), Layout::kNhwc};
  if (is_byte(c.in().value(x).type.type))
    c.note(node, LowerForm::kCodes, "MaxPool on codes");
  else
    c.note(node, LowerForm::kFloat, "MaxPool",
           c.codes(x) ? "a window may lie in the padding" : "its input is not quantized");
  return true;
}

} // namespace

Result<bool> lower_pool(Context& c, const Node& node) {
  const bool max = node.is("MaxPool") || node.is("GlobalMaxPool");
  const bool global = node.is("GlobalAveragePool") || node.is("GlobalMaxPool");
  if (!global && !max && !node.is("AveragePool")) return false;
  const ValueId x = node.input(0);
  const TypeInfo& type = c.in().value(x).type;
  const bool stored = max && is_byte(type.type);
  if (stored && may_miss_the_image(node)) return false;
  if (!type.has_rank() || type.rank() != 4 || (type.type != DType::kFloat32 && !stored))
    return false;
  if (node.outputs.size() > 1 && node.outputs[1].valid()) return false;
  Node made;
  made.name = node.name;
  made.domain = kNative;
  made.origin = {node.name};
  if (global)
    made.set("global", 1);
  else if (!window(node, made))
    return false;
  if (max) return max_pool(c, node, std::move(made));

  Epilogue e = c.epilogue(node.outputs[0], false);
  const bool to_codes = c.codes(x) && e.to != DType::kFloat32;
  if (!to_codes) {
    made.op_type = "AveragePool";
    made.inputs = {c.nhwc(x).id};
    c.note(node, LowerForm::kFloat, "AveragePool",
           c.codes(x) ? e.why_float : "its input is not quantized");
    c.source(node.outputs[0]).real =
        Form{c.emit(std::move(made), c.in().value(node.outputs[0]).name), Layout::kNhwc};
    return true;
  }
  made.op_type = "QAveragePool";
  made.inputs = {c.codes_nhwc(x).id};
  made.set("x_zero_point", c.source(x).quant.one_zero());
  made.set("x_scale", c.source(x).quant.one_scale());
  made.set("y_scale", e.quant.one_scale());
  c.set_attributes(made, e);
  const ValueId named = c.in().node(e.quantizers[0]).outputs[0];
  c.finish(node, e, Form{c.emit(std::move(made), c.in().value(named).name), Layout::kNhwc});
  return true;
}

} // namespace octet::lowering
