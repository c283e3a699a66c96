// SPDX-License-Identifier: Apache-2.0
// HardSwish (opset 14). y = x * max(0, min(1, x / 6 + 0.5)).
#include <algorithm>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_HardSwish {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer, ctx,
                    {.real = [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); },
                     .integer = {},
                     .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "HardSwish",
    .since = 14,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_HardSwish
