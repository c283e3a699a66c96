// SPDX-License-Identifier: Apache-2.0
//   LogSoftmax(x)    =>    d - Log(ReduceSum(Exp(d)))  with d = x - ReduceMax(x)
// over one axis, before operator set 13 over all from it on. Rounding: equal in real arithmetic.
#include "passes/lower/chains.h"
#include "passes/lower/parts.h"

namespace octet::lowering {

std::optional<Patch> decompose_log_softmax(const RuleContext& c, const Node& node) {
  const TypeInfo* x = node.is("LogSoftmax") ? float_input(c, node) : nullptr;
  if (x == nullptr) return std::nullopt;
  const bool flattens = c.graph.opset() < 13;
  int64_t axis = node.attr_int("axis", flattens ? 1 : -1);
  if (axis < 0) axis += x->rank();
  if (axis < 0 || axis >= x->rank()) return std::nullopt;
  std::vector<int64_t> axes = {axis};
  for (int64_t k = axis + 1; flattens && k < x->rank(); ++k)
    axes.push_back(k);
  Parts parts(c, node, "LogSoftmax is a difference of logarithms");
  const ValueId in = node.input(0);
  const ValueId from_top = parts.op("Sub", {in, parts.reduced("ReduceMax", in, axes)});
  const ValueId sum = parts.reduced("ReduceSum", parts.op("Exp", {from_top}), axes);
  return parts.finish(node, parts.op("Sub", {from_top, parts.op("Log", {sum})}));
}

} // namespace octet::lowering
