// SPDX-License-Identifier: Apache-2.0
// DQ, DQ ─ Add ─ [Relu | Clip] ─ Q   becomes QAdd; float adds of two NHWC tensors stay in that
// order.
#include <algorithm>

#include "passes/lower/context.h"

namespace octet::lowering {

Result<bool> lower_add(Context& c, const Node& node) {
  if (!node.is("Add") || node.inputs.size() != 2) return false;
  const ValueId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  const auto& dims_a = c.in().value(a).type.shape;
  const auto& dims_b = c.in().value(b).type.shape;
  const bool same = dims_a && dims_b && dims_a->size() == dims_b->size() &&
                    std::equal(dims_a->begin(), dims_a->end(), dims_b->begin());
  const auto qa = c.codes(a), qb = c.codes(b);
  if (!qa || !qb) {
    const auto& ra = c.source(a).real;
    const auto& rb = c.source(b).real;
    if (!same || !ra || !rb || ra->layout != rb->layout || ra->layout == Layout::kPlain)
      return false;
    Node made = node;
    made.inputs = {ra->id, rb->id};
    made.origin = {node.name};
    c.note(node, "Add", "an operand is not quantized");
    c.source(y).real = Form{c.emit(std::move(made), c.in().value(y).name), ra->layout};
    return true;
  }
  const bool images =
      same && dims_a->size() == 4 && (qa->layout == Layout::kNhwc || qb->layout == Layout::kNhwc);
  if (!images && (qa->layout != Layout::kPlain || qb->layout != Layout::kPlain)) return false;
  const Epilogue e = c.epilogue(y, false);
  if (e.to == DType::kFloat32) return false;
  Node made;
  made.op_type = "QAdd";
  made.domain = "octet.native";
  made.name = node.name;
  made.origin = {node.name};
  made.inputs = {images ? c.codes_nhwc(a).id : qa->id, images ? c.codes_nhwc(b).id : qb->id};
  const QuantParams pa = c.source(a).quant, pb = c.source(b).quant;
  const auto ratio = [&](const QuantParams& q) {
    return static_cast<float>(static_cast<double>(q.scale) / static_cast<double>(e.quant.scale));
  };
  made.set("a_zero_point", pa.zero_point);
  made.set("b_zero_point", pb.zero_point);
  made.set("a_ratio", ratio(pa));
  made.set("b_ratio", ratio(pb));
  c.set_attributes(made, e);
  const ValueId named = c.in().node(e.quantizers[0]).outputs[0];
  c.finish(node, e,
           Form{c.emit(std::move(made), c.in().value(named).name),
                images ? Layout::kNhwc : Layout::kPlain});
  return true;
}

} // namespace octet::lowering
