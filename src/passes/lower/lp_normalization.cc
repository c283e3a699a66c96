// SPDX-License-Identifier: Apache-2.0
//   LpNormalization(x)    =>    x / n, or x / 1 where n = ReduceL1(x), ReduceL2(x) is 0
// Rounding: equal in real arithmetic.
#include "passes/lower/chains.h"
#include "passes/lower/parts.h"

namespace octet::lowering {

std::optional<Patch> decompose_lp_normalization(const RuleContext& c, const Node& node) {
  const TypeInfo* x = node.is("LpNormalization") ? float_input(c, node) : nullptr;
  const int64_t p = node.attr_int("p", 2), axis = node.attr_int("axis", -1);
  if (x == nullptr || (p != 1 && p != 2) || axis < -x->rank() || axis >= x->rank())
    return std::nullopt;
  Parts parts(c, node, "LpNormalization divides by a norm");
  const ValueId in = node.input(0);
  const ValueId norm = parts.reduced(p == 1 ? "ReduceL1" : "ReduceL2", in, {axis});
  const ValueId is_zero = parts.op("Equal", {norm, parts.number(0)});
  const ValueId divisor = parts.op("Where", {is_zero, parts.number(1), norm});
  return parts.finish(node, parts.op("Div", {in, divisor}));
}

} // namespace octet::lowering
