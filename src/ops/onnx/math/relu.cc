// SPDX-License-Identifier: Apache-2.0
// Relu (opset 6). y = max(0, x); NaN stays NaN.
#include <algorithm>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Relu {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes | kSignedTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer, ctx,
                    {.real = [](double x) { return x < 0 ? 0 : x; },
                     .integer = [](int64_t x) { return x < 0 ? 0 : x; },
                     .natural = {}});
}

Range range(const RangeContext& c) {
  const Range in = c.in(0);
  return {std::max(in.lo, 0.0), std::max(in.hi, 0.0)};
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = range,
    .facts = Facts{.idempotent = true, .exact = true, .by_magnitude = true, .unchanged = true},
};

} // namespace octet::onnx::op_Relu
