// SPDX-License-Identifier: Apache-2.0
// Neg (opset 6).
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Neg {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes | kSignedTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer, ctx,
                    {.real = [](double x) { return -x; },
                     .integer = [](int64_t x) { return wrap_sub(0, x); },
                     .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.involution = true, .exact = true, .unchanged = true},
};

} // namespace octet::onnx::op_Neg
