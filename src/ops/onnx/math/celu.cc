// SPDX-License-Identifier: Apache-2.0
// Celu (opset 12). y = x for x > 0, alpha * (e^(x / alpha) - 1) below.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Celu {
namespace {

struct CeluAttrs {
  double alpha = 1.0;
};

CeluAttrs parse(const Node& node) {
  return {
      .alpha = node.attr_float("alpha", 1.0F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const CeluAttrs a = parse(ctx.node);
  return eval_unary(
      infer_unary<kFloatTypes>, ctx,
      {.real = [a](double x) { return x > 0 ? x : a.alpha * std::expm1(x / a.alpha); },
       .integer = {},
       .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 12,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Celu
