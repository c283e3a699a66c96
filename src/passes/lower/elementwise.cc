// SPDX-License-Identifier: Apache-2.0
// Float functions of elements of one or more tensors keep the order that their operands have in
// common; what broadcasts is brought to it. Those that octet.native specifies become its operators.
//   x (NHWC) ─ Mul(g [C, 1, 1])    becomes Mul with g [1, 1, 1, C]
#include <algorithm>

#include "graph/domains.h"
#include "ops/op.h"
#include "passes/lower/context.h"
#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

bool is_number(const TypeInfo& type) {
  const auto shape = type.static_shape();
  return shape && std::all_of(shape->begin(), shape->end(), [](int64_t d) { return d == 1; });
}

bool is_plain_number(const Context& c, ValueId id) {
  return is_number(c.in().value(id).type) && c.in().value(id).type.rank() <= 1;
}

/// In which the value is there, if it has been computed.
std::optional<Form> form_of(Context& c, ValueId id) {
  const Source& source = c.source(id);
  return source.real ? source.real : source.codes;
}

/// Whether `operand` can be had in the order of a result of so many axes.
bool can_have(Context& c, ValueId operand, const Form& order, int64_t rank) {
  const TypeInfo& type = c.in().value(operand).type;
  if (!type.has_rank()) return false;
  if (is_plain_number(c, operand)) return true;
  if (!order.layout.is_flat())
    return type.rank() == rank || (type.rank() < rank && c.constant(operand).has_value());
  const auto form = form_of(c, operand);
  return form && form->same_order(order) && type.rank() == 2;
}

/// An order, and the axes of what has it.
struct Order {
  Form form;
  int64_t rank = 0;
};

/// The order of the first operand as large as y that is not in the source's, where all can be had in
/// that; else the source's.
Order common_order(Context& c, const Node& node, const Mapped& mapped) {
  const TypeInfo& y = c.in().value(node.outputs[0]).type;
  for (const Mapped::Input& input : mapped.inputs) {
    if (!input.id.valid()) continue;
    const TypeInfo& x = c.in().value(input.id).type;
    const auto form = form_of(c, input.id);
    if (!form || form->layout.is_plain() || !x.has_rank()) continue;
    if (mapped.inputs.size() > 1 && !covers(x, y)) continue;
    const bool all =
        std::all_of(mapped.inputs.begin(), mapped.inputs.end(), [&](const Mapped::Input& other) {
          return other.id == input.id || (other.id.valid() ? can_have(c, other.id, *form, x.rank())
                                                           : !form->layout.is_flat());
        });
    if (all) return {*form, x.rank()};
  }
  return {};
}

/// A constant of at most as many axes turned to the order.
Tensor turned(const Tensor& t, const Order& order) {
  Shape shape(static_cast<size_t>(order.rank), 1);
  std::copy(t.shape().begin(), t.shape().end(), shape.end() - t.rank());
  return permuted(t.reshaped(shape).value(), order.form.layout.axes(order.rank));
}

ValueId in_order(Context& c, ValueId id, const Order& order) {
  const Layout& layout = order.form.layout;
  if (layout.is_plain() || is_plain_number(c, id)) return c.plain(id).id;
  if (layout.is_flat()) return c.real(id).id;
  if (const auto constant = c.constant(id))
    return c.out().add_constant(c.in().value(id).name + "/turned", turned(*constant, order));
  return c.ordered(id, layout).id;
}

/// Why it is no operator on codes.
std::string why_float(Context& c, const Node& node, const Mapped& mapped) {
  for (const Mapped::Input& input : mapped.inputs)
    if (input.id.valid() && !c.codes(input.id) && !c.is_constant(input.id))
      return mapped.inputs.size() == 1 ? "its input is not quantized"
                                       : "an operand is not quantized";
  if (mapped.inputs.size() == 1 || node.is("Add")) return "its result is read in float";
  return "octet computes it in float";
}

} // namespace

Result<bool> lower_elementwise(Context& c, const Node& node) {
  auto made = mapped(c.in(), node, Bits::kAny);
  if (!made) return false;
  const ValueId y = node.outputs[0];
  const Order order = common_order(c, node, *made);
  const std::string why = why_float(c, node, *made);
  Node out = node;
  out.outputs.clear();
  out.origin = {node.name};
  // Alone, what has the program's bits stays what it is.
  const bool is_own = find_op(kNative, node.op_type) != nullptr;
  if (is_own || mapped(c.in(), node, Bits::kSame)) {
    if (is_own) out.domain = kNative;
    for (ValueId& id : out.inputs)
      if (id.valid()) id = in_order(c, id, order);
  } else {
    for (Mapped::Input& input : made->inputs) {
      if (input.id.valid())
        input.id = in_order(c, input.id, order);
      else
        input.id = c.out().add_constant(node.name + "/constant", !order.form.layout.is_plain()
                                                                     ? turned(*input.made, order)
                                                                     : std::move(*input.made));
    }
    set_map(out, *made);
  }
  c.note(node, LowerForm::kFloat, out.op_type, why);
  c.source(y).real = order.form.ordered(c.emit(std::move(out), c.in().value(y).name));
  return true;
}

} // namespace octet::lowering
