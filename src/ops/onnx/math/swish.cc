// SPDX-License-Identifier: Apache-2.0
// Swish (opset 24). y = x * sigmoid(alpha * x).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Swish {
namespace {

struct SwishAttrs {
  double alpha = 1.0;
};

SwishAttrs parse(const Node& node) {
  return {
      .alpha = node.attr_float("alpha", 1.0F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const SwishAttrs a = parse(ctx.node);
  return eval_unary(infer_unary<kFloatTypes>, ctx,
                    {.real = [a](double x) { return x / (1 + std::exp(-a.alpha * x)); },
                     .integer = {},
                     .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 24,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_Swish
