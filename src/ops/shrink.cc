// SPDX-License-Identifier: Apache-2.0
// Shrink (opset 9). y = x + bias below -lambd, x - bias above lambd, 0 between.
#include "ops/elementwise.h"

namespace octet::onnx::op_Shrink {
namespace {

struct ShrinkAttrs {
  double bias = 0.0;
  double lambd = 0.5;
};

ShrinkAttrs parse(const Node& node) {
  return {
      .bias = node.attr_float("bias", 0.0F),
      .lambd = node.attr_float("lambd", 0.5F),
  };
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const ShrinkAttrs a = parse(ctx.node);
  return eval_unary(
      infer, ctx,
      {.real = [a](double x) { return x < -a.lambd  ? x + a.bias
                                      : x > a.lambd ? x - a.bias
                                                    : 0; },
       .integer = {},
       .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Shrink",
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
};

} // namespace octet::onnx::op_Shrink
