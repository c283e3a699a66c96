// SPDX-License-Identifier: Apache-2.0
// A function of one tensor of bytes becomes QTable: the function of all 256 codes, evaluated by the
// reference. What stands between codes in QCDQ files and in networks of integers.
//   codes ─ Clip | Relu | Max(n) | Cast to bytes ...
#include <algorithm>
#include <array>
#include <numeric>

#include "graph/domains.h"
#include "ops/op.h"
#include "ops/qdq/quant_layout.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr std::array<std::string_view, 8> kFunctions = {"Abs", "Cast", "Clip", "Max",
                                                        "Min", "Neg",  "Relu", "Sign"};

/// A number that gives a tensor beside it no other shape.
bool is_number_beside(const Context& c, ValueId id, int64_t rank) {
  const Tensor* number = c.in().constant(id);
  return number != nullptr && number->count() == 1 && number->rank() <= rank;
}

/// The only input that is no number; nullopt: there are others.
std::optional<size_t> only_tensor(const Context& c, const Node& node) {
  std::optional<size_t> found;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && c.in().constant(node.inputs[i]) == nullptr) {
      if (found) return std::nullopt;
      found = i;
    }
  return found;
}

/// What the function makes of all codes, in ascending order.
Result<Tensor> table_of(const Context& c, const Node& node, size_t x, DType type) {
  std::vector<double> codes(256);
  std::iota(codes.begin(), codes.end(), code_range(type)->lo);
  EvalContext context{
      .node = node, .version = c.in().opset(node.domain), .inputs = {}, .run_body = {}, .seed = 0};
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (i == x)
      context.inputs.push_back(OCTET_TRY(Tensor::from_doubles(type, {256}, codes)));
    else if (node.inputs[i].valid())
      context.inputs.push_back(OCTET_TRY(c.in().constant(node.inputs[i])->reshaped({})));
    else
      context.inputs.emplace_back();
  return OCTET_TRY(find_op(node.domain, node.op_type)->eval.fn(context)).at(0);
}

} // namespace

Result<bool> lower_byte_function(Context& c, const Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1 ||
      std::find(kFunctions.begin(), kFunctions.end(), node.op_type) == kFunctions.end())
    return false;
  const auto at = only_tensor(c, node);
  if (!at) return false;
  const ValueId x = node.inputs[*at], y = node.outputs[0];
  const TypeInfo& type = c.in().value(x).type;
  if (!is_byte(type.type) || !is_byte(c.in().value(y).type.type) || !type.has_rank()) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (i != *at && node.inputs[i].valid() && !is_number_beside(c, node.inputs[i], type.rank()))
      return false;
  const Form from = c.real(x);
  Node made;
  made.op_type = "QTable";
  made.domain = kNative;
  made.name = node.name;
  made.origin = {node.name};
  const Tensor table = OCTET_TRY(table_of(c, node, *at, type.type));
  made.inputs = {from.id, c.out().add_constant(node.name + "/table", table)};
  c.note(node, LowerForm::kIntegers, "QTable");
  c.source(y).real = from.ordered(c.emit(std::move(made), c.in().value(y).name));
  return true;
}

} // namespace octet::lowering
