// SPDX-License-Identifier: Apache-2.0
// LeakyRelu (opset 6). y = x for x >= 0, alpha * x below.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_LeakyRelu {
namespace {

struct LeakyReluAttrs {
  double alpha = 0.01;
};

LeakyReluAttrs parse(const Node& node) {
  return {
      .alpha = node.attr_float("alpha", 0.01F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const LeakyReluAttrs a = parse(ctx.node);
  return eval_unary(
      infer_unary<kFloatTypes>, ctx,
      {.real = [a](double x) { return x < 0 ? a.alpha * x : x; }, .integer = {}, .natural = {}});
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

} // namespace octet::onnx::op_LeakyRelu
