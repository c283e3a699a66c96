// SPDX-License-Identifier: Apache-2.0
// Round (opset 11). To the nearest integer, halves to even.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Round {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(
      infer, ctx,
      {.real = [](double x) { return std::nearbyint(x); }, .integer = {}, .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Round",
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = Facts{.idempotent = true, .exact = true, .unchanged = true},
};

} // namespace octet::onnx::op_Round
