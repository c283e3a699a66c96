// SPDX-License-Identifier: Apache-2.0
// Tanh (opset 6).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Tanh {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer, ctx,
                    {.real = [](double x) { return std::tanh(x); }, .integer = {}, .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Tanh",
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<-1, 1>,
    .determinism = Determinism::kPure,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Tanh
