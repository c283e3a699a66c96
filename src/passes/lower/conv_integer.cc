// SPDX-License-Identifier: Apache-2.0
// ConvInteger with constant weights over images becomes octet.native ConvInteger, in NHWC; u8
// weights that fit no int8 around their zero point get a channel that sums x up (int8_weights.h).
#include "passes/lower/int8_weights.h"

namespace octet::lowering {

Result<bool> lower_conv_integer(Context& c, const Node& node) {
  if (!node.is("ConvInteger") || !c.integer()) return false;
  const TypeInfo& x = c.in().value(node.input(0)).type;
  const Tensor* w = c.in().constant(node.input(1));
  if (!x.has_rank() || x.rank() != 4 || w == nullptr || w->rank() != 4) return false;
  const int64_t group = node.attr_int("group", 1);
  const bool has_zero = node.input(3).valid();
  const Tensor* zero = has_zero ? c.in().constant(node.input(3)) : nullptr;
  if (group < 1 || w->dim(0) % group != 0 || (has_zero && zero == nullptr) ||
      w->dim(1) * w->dim(2) * w->dim(3) > kMostIntegerTerms)
    return false;
  constexpr int64_t kOrder[] = {0, 2, 3, 1};
  const auto weights = int8_weights(permuted(*w, kOrder), zero, group == 1);
  if (!weights) return false;
  Node made;
  made.domain = kNative;
  made.op_type = "ConvInteger";
  made.name = node.name;
  made.origin = {node.name};
  made.attributes = node.attributes;
  made.attributes.erase("kernel_shape");
  made.inputs = {c.nhwc(node.input(0)).id,
                 c.out().add_constant(node.name + "/weights", weights->codes)};
  if (node.input(2).valid()) made.inputs.push_back(c.plain(node.input(2)).id);
  const std::string& name = c.in().value(node.outputs[0]).name;
  const bool whole = weights->left.empty();
  const ValueId sums = c.emit(std::move(made), whole ? name : name + "/sums");
  const ValueId y = without_left(c, node, sums, *weights, 4);
  c.source(node.outputs[0]).real = Form{y, Layout::kNhwc};
  c.note(node, LowerForm::kIntegers, "ConvInteger");
  return true;
}

} // namespace octet::lowering
