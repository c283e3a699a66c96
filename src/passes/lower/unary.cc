// SPDX-License-Identifier: Apache-2.0
// Functions of one float tensor that are no programs (elementwise.cc) keep its order.
#include "graph/domains.h"
#include "ops/infer.h"
#include "passes/lower/context.h"
#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

bool is_unary(const Context& c, const Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1 || !node.captures.empty()) return false;
  const OpDef* op = find_op(node.domain, node.op_type);
  if (!op || node.inputs.empty()) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() &&
        (!c.in().constant(node.inputs[i]) || c.in().constant(node.inputs[i])->count() != 1))
      return false;
  return op->quant.fn(node, input_infos(c.in(), node)).kind == QuantTrait::Kind::kUnary ||
         node.is("Relu") || node.is("Clip");
}

} // namespace

Result<bool> lower_unary(Context& c, const Node& node) {
  if (!is_unary(c, node)) return false;
  const ValueId x = node.input(0), y = node.outputs[0];
  if (c.in().value(x).type.type != DType::kFloat32) return false;
  Node made = node;
  made.outputs.clear();
  made.origin = {node.name};
  const Form in = c.real(x);
  made.inputs[0] = in.id;
  for (size_t i = 1; i < made.inputs.size(); ++i)
    if (node.inputs[i].valid()) made.inputs[i] = c.plain(node.inputs[i]).id;
  c.note(node, LowerForm::kFloat, made.op_type,
         c.codes(x) ? "its result is read in float" : "its input is not quantized");
  c.source(y).real = in.ordered(c.emit(std::move(made), c.in().value(y).name));
  return true;
}

} // namespace octet::lowering
