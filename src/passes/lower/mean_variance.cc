// SPDX-License-Identifier: Apache-2.0
//   MeanVarianceNormalization(x)    =>    d / (Sqrt(ReduceMean(d d)) + 1e-9)  with d = x - ReduceMean(x)
// Rounding: equal in real arithmetic. Source: ONNX's function body.
#include "passes/lower/chains.h"
#include "passes/lower/parts.h"

namespace octet::lowering {

std::optional<Patch> decompose_mean_variance(const RuleContext& c, const Node& node) {
  const TypeInfo* x = node.is("MeanVarianceNormalization") ? float_input(c, node) : nullptr;
  if (x == nullptr) return std::nullopt;
  std::vector<int64_t> axes = node.attr_ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  for (const int64_t axis : axes)
    if (axis < -x->rank() || axis >= x->rank()) return std::nullopt;
  Parts parts(c, node, "MeanVarianceNormalization is its function");
  const ValueId in = node.input(0);
  const ValueId centred = parts.op("Sub", {in, parts.reduced("ReduceMean", in, axes)});
  const ValueId variance = parts.reduced("ReduceMean", parts.op("Mul", {centred, centred}), axes);
  const ValueId deviation = parts.op("Add", {parts.op("Sqrt", {variance}), parts.number(1e-9)});
  return parts.finish(node, parts.op("Div", {centred, deviation}));
}

} // namespace octet::lowering
