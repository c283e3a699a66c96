// SPDX-License-Identifier: Apache-2.0
// ThresholdedRelu (opset 10). y = x for x > alpha, else 0.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_ThresholdedRelu {
namespace {

struct ThresholdedReluAttrs {
  double alpha = 1.0;
};

ThresholdedReluAttrs parse(const Node& node) {
  return {
      .alpha = node.attr_float("alpha", 1.0F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const ThresholdedReluAttrs a = parse(ctx.node);
  return eval_unary(
      infer_unary<kFloatTypes>, ctx,
      {.real = [a](double x) { return x > a.alpha ? x : 0; }, .integer = {}, .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.exact = true, .unchanged = true},
};

} // namespace octet::onnx::op_ThresholdedRelu
