// SPDX-License-Identifier: Apache-2.0
// Softsign (opset 1). y = x / (1 + |x|).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Softsign {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(
      infer, ctx,
      {.real = [](double x) { return x / (1 + std::abs(x)); }, .integer = {}, .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Softsign",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<-1, 1>,
    .determinism = Determinism::kPure,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Softsign
