// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN with constant weights become octet's own float operators.
#include "ops/native/recurrent.h"

#include "graph/domains.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// W, R, B and P.
bool is_weight(size_t input) {
  return (input >= 1 && input <= 3) || input == 7;
}

} // namespace

Result<bool> lower_recurrent(Context& c, const Node& node) {
  if (!node.domain.empty() || native::recurrent_kind(node.op_type) == nullptr) return false;
  const auto is_constant = [&](size_t input) { return c.is_constant(node.input(input)); };
  if (!native::why_not_native(c.in(), node, is_constant).empty()) return false;
  Node made = node;
  made.domain = kNative;
  made.origin = {node.name};
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    made.inputs[i] = is_weight(i) ? c.out().add_constant(c.in().value(node.inputs[i]).name,
                                                         *c.constant(node.inputs[i]))
                                  : c.plain(node.inputs[i]).id;
  }
  for (ValueId& id : made.outputs) {
    if (!id.valid()) continue;
    const Value& v = c.in().value(id);
    const ValueId fresh = c.out().add_value(v.name, v.type);
    c.source(id).real = Form{fresh};
    id = fresh;
  }
  c.out().add_node(std::move(made));
  c.note(node, LowerForm::kFloat, node.op_type, "recurrent layers run in float");
  return true;
}

} // namespace octet::lowering
