// SPDX-License-Identifier: Apache-2.0
// CumProd (opset 26). The running product along an axis.
#include "ops/shared/cumulative.h"

namespace octet::onnx::op_CumProd {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_cumulative(ctx);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_cumulative(
      ctx, {.real = [](double a, double b) { return a * b; }, .integer = wrap_mul, .natural = {}},
      1);
}

} // namespace

extern const OpFacets facets = {
    .since = 26,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_CumProd
