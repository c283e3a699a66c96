// SPDX-License-Identifier: Apache-2.0
// Mul (opset 7). c = a * b with broadcasting. A constant vector that multiplies is a gain.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Mul {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_binary(ctx, kNumericTypes, DType::kUndefined,
                      [](const Dim& a, const Dim& b) { return a * b; });
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_binary(infer, ctx,
                     {.real = [](double a, double b) { return a * b; },
                      .integer = [](int64_t a, int64_t b) { return wrap_mul(a, b); },
                      .natural = [](uint64_t a, uint64_t b) { return a * b; }});
}

Role roles(const Node&, size_t) {
  return Role::kGain;
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = elementwise_all,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_Mul
