// SPDX-License-Identifier: Apache-2.0
//   BatchNormalization(x, gain, bias, mean, var)    =>    x f + (bias - mean f)
// with f = gain / Sqrt(var + epsilon), where one of the four is computed; of constants it is one
// program. Rounding: equal in real arithmetic.
#include "passes/lower/chains.h"
#include "passes/lower/parts.h"

namespace octet::lowering {

std::optional<Patch> decompose_batch_norm(const RuleContext& c, const Node& node) {
  const TypeInfo* x = node.is("BatchNormalization") ? float_input(c, node) : nullptr;
  if (x == nullptr || x->rank() < 2 || node.inputs.size() != 5 || node.outputs.size() != 1)
    return std::nullopt;
  if (node.attr_int("training_mode", 0) != 0 || node.attr_int("spatial", 1) != 1)
    return std::nullopt;
  bool computed = false;
  for (size_t k = 1; k < 5; ++k) {
    const Value& part = c.graph.value(node.input(k));
    if (part.type.type != DType::kFloat32 || !part.type.has_rank() || part.type.rank() != 1)
      return std::nullopt;
    computed = computed || c.graph.constant(node.input(k)) == nullptr;
  }
  if (!computed) return std::nullopt;
  Parts parts(c, node, "BatchNormalization is a product and a sum");
  const auto epsilon = static_cast<double>(node.attr_float("epsilon", 1e-5F));
  const ValueId variance = parts.op("Add", {node.input(4), parts.number(epsilon)});
  ValueId factor = parts.op("Div", {node.input(1), parts.op("Sqrt", {variance})});
  ValueId offset = parts.op("Sub", {node.input(2), parts.op("Mul", {node.input(3), factor})});
  if (x->rank() > 2) {
    std::vector<int64_t> shape(static_cast<size_t>(x->rank() - 1), 1);
    shape[0] = -1;
    factor = parts.reshaped(factor, shape);
    offset = parts.reshaped(offset, shape);
  }
  const ValueId scaled = parts.op("Mul", {node.input(0), factor});
  return parts.finish(node, parts.op("Add", {scaled, offset}));
}

} // namespace octet::lowering
