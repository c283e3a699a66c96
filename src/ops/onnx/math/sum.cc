// SPDX-License-Identifier: Apache-2.0
// Sum (opset 8). The sum of all inputs with broadcasting, rounded once.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Sum {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_variadic(
      infer_variadic<kFloatTypes>, ctx,
      {.real = [](double a, double b) { return a + b; }, .integer = {}, .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 8,
    .infer = infer_variadic<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = elementwise_all,
    .motion = nothing_moves,
    .range = unbounded,
    .facts =
        Facts{.broadcasts = true, .of_one_is_it = true, .by_magnitude = true, .unchanged = true},
};

} // namespace octet::onnx::op_Sum
