// SPDX-License-Identifier: Apache-2.0
// Sub (opset 7). c = a - b with broadcasting.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Sub {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_binary(ctx, kNumericTypes, DType::kUndefined,
                      [](const Dim& a, const Dim& b) { return a - b; });
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_binary(infer, ctx,
                     {.real = [](double a, double b) { return a - b; },
                      .integer = [](int64_t a, int64_t b) { return wrap_sub(a, b); },
                      .natural = [](uint64_t a, uint64_t b) { return a - b; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = elementwise_all,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_Sub
