// SPDX-License-Identifier: Apache-2.0
// Tan (opset 7), of radians.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Tan {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer, ctx,
                    {.real = [](double x) { return std::tan(x); }, .integer = {}, .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Tan",
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Tan
