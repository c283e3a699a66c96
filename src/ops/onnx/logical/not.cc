// SPDX-License-Identifier: Apache-2.0
// Not (opset 1), of truth values.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Not {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kBoolType);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer, ctx, {.real = {}, .integer = {}, .natural = [](uint64_t x) {
                                   return uint64_t{x == 0};
                                 }});
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Not",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = Facts{.involution = true, .unchanged = true},
};

} // namespace octet::onnx::op_Not
