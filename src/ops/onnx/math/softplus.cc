// SPDX-License-Identifier: Apache-2.0
// Softplus (opset 1). y = ln(1 + e^x), without overflow for large x.
#include <algorithm>
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Softplus {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(
      infer, ctx,
      {.real = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
       .integer = {},
       .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Softplus",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Softplus
