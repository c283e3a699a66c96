// SPDX-License-Identifier: Apache-2.0
//   DQ, DQ ─ Add ─ [Relu | Clip] ─ Q   becomes QAdd
// Adds of two tensors in one order stay in that order: of as many axes, each is broadcast alike.
#include "graph/domains.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// Codes of both operands in one order, which the sum has then.
struct Operands {
  Form a, b;
};

Operands in_one_order(Context& c, ValueId a, ValueId b, bool same_rank) {
  const Form fa = *c.codes(a), fb = *c.codes(b);
  if (fa.same_order(fb) && (same_rank || fa.layout == Layout::kPlain)) return {fa, fb};
  if (same_rank && (fa.layout == Layout::kNhwc || fb.layout == Layout::kNhwc))
    return {c.codes_nhwc(a), c.codes_nhwc(b)};
  return {c.codes_plain(a), c.codes_plain(b)};
}

/// A constant that the file stores as codes of one scale.
struct StoredOperand {
  const Tensor* codes;
  qdq::Grid grid;
};

std::optional<StoredOperand> stored_operand(const Context& c, ValueId id) {
  const Node* node = c.in().producer(id);
  if (node == nullptr || !is_dequantize(*node)) return std::nullopt;
  const Tensor* codes = c.in().constant(node->input(0));
  const auto grid = c.per_tensor(*node);
  if (codes == nullptr || !grid || c.in().value(id).type.type != DType::kFloat32)
    return std::nullopt;
  return StoredOperand{codes, *grid};
}

/// The codes of an operand as they lie, a constant's where nothing moved the other one's.
std::optional<Operands> operands_of(Context& c, const Node& node, bool same_rank) {
  const ValueId a = node.inputs[0], b = node.inputs[1];
  if (c.codes(a) && c.codes(b)) return in_one_order(c, a, b, same_rank);
  const bool first = !c.codes(a);
  const auto stored = stored_operand(c, first ? a : b);
  const auto codes = c.codes(first ? b : a);
  if (!stored || !codes || codes->layout != Layout::kPlain) return std::nullopt;
  const Form constant{
      c.out().add_constant(c.in().value(first ? a : b).name + "/codes", *stored->codes)};
  return first ? Operands{constant, *codes} : Operands{*codes, constant};
}

qdq::Grid grid_of(Context& c, ValueId id) {
  return c.codes(id) ? c.source(id).quant : stored_operand(c, id)->grid;
}

} // namespace

Result<bool> lower_add(Context& c, const Node& node) {
  if (!node.is("Add") || node.inputs.size() != 2) return false;
  const ValueId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  const TypeInfo& type_a = c.in().value(a).type;
  const TypeInfo& type_b = c.in().value(b).type;
  const bool same = type_a.has_rank() && type_b.has_rank() && type_a.rank() == type_b.rank();
  if (!c.codes(a) && !c.codes(b)) return false;
  const Epilogue e = c.epilogue(y, false);
  if (e.to == DType::kFloat32) return false;
  const auto operands = operands_of(c, node, same);
  if (!operands) return false;
  Node made;
  made.op_type = "QAdd";
  made.domain = kNative;
  made.name = node.name;
  made.origin = {node.name};
  made.inputs = {operands->a.id, operands->b.id};
  const qdq::Grid pa = grid_of(c, a), pb = grid_of(c, b);
  const auto ratio = [&](const qdq::Grid& q) {
    return static_cast<float>(static_cast<double>(q.one_scale()) /
                              static_cast<double>(e.quant.one_scale()));
  };
  made.set("a_zero_point", pa.one_zero());
  made.set("b_zero_point", pb.one_zero());
  made.set("a_ratio", ratio(pa));
  made.set("b_ratio", ratio(pb));
  c.set_attributes(made, e);
  const ValueId named = c.in().node(e.quantizers[0]).outputs[0];
  c.finish(node, e, operands->a.ordered(c.emit(std::move(made), c.in().value(named).name)));
  return true;
}

} // namespace octet::lowering
