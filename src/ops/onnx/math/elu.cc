// SPDX-License-Identifier: Apache-2.0
// Elu (opset 6). y = x for x >= 0, alpha * (e^x - 1) below.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Elu {
namespace {

struct EluAttrs {
  double alpha = 1.0;
};

EluAttrs parse(const Node& node) {
  return {
      .alpha = node.attr_float("alpha", 1.0F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const EluAttrs a = parse(ctx.node);
  return eval_unary(infer_unary<kFloatTypes>, ctx,
                    {.real = [a](double x) { return x < 0 ? a.alpha * std::expm1(x) : x; },
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
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Elu
