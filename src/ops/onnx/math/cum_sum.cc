// SPDX-License-Identifier: Apache-2.0
// CumSum (opset 11). The running sum along an axis.
#include "ops/shared/cumulative.h"

namespace octet::onnx::op_CumSum {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_cumulative(ctx);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_cumulative(
      ctx, {.real = [](double a, double b) { return a + b; }, .integer = wrap_add, .natural = {}},
      0);
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_CumSum
