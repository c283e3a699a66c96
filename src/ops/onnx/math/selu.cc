// SPDX-License-Identifier: Apache-2.0
// Selu (opset 6). y = gamma * x for x > 0, gamma * alpha * (e^x - 1) below.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Selu {
namespace {

struct SeluAttrs {
  double alpha = 1.67326319217681884765625;
  double gamma = 1.05070102214813232421875;
};

SeluAttrs parse(const Node& node) {
  return {
      .alpha = node.attr_float("alpha", 1.67326319217681884765625F),
      .gamma = node.attr_float("gamma", 1.05070102214813232421875F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const SeluAttrs a = parse(ctx.node);
  return eval_unary(
      infer_unary<kFloatTypes>, ctx,
      {.real = [a](double x) { return a.gamma * (x > 0 ? x : a.alpha * std::expm1(x)); },
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

} // namespace octet::onnx::op_Selu
