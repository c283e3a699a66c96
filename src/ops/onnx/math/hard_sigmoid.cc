// SPDX-License-Identifier: Apache-2.0
// HardSigmoid (opset 6). y = max(0, min(1, alpha * x + beta)).
#include <algorithm>
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_HardSigmoid {
namespace {

struct HardSigmoidAttrs {
  double alpha = 0.2;
  double beta = 0.5;
};

HardSigmoidAttrs parse(const Node& node) {
  return {
      .alpha = node.attr_float("alpha", 0.2F),
      .beta = node.attr_float("beta", 0.5F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const HardSigmoidAttrs a = parse(ctx.node);
  return eval_unary(infer_unary<kFloatTypes>, ctx,
                    {.real = [a](double x) { return std::clamp(a.alpha * x + a.beta, 0.0, 1.0); },
                     .integer = {},
                     .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<0, 1>,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_HardSigmoid
