// SPDX-License-Identifier: Apache-2.0
// Min (opset 8). The smallest of all inputs with broadcasting; NaN wins.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Min {
namespace {

Dim smaller(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.value() < b.value() ? a : b;
  return a == b ? a : Dim::unknown();
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_variadic(ctx, kNumericTypes, smaller);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_variadic(infer, ctx,
                       {.real = [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
                        .integer = [](int64_t a, int64_t b) { return a < b ? a : b; },
                        .natural = [](uint64_t a, uint64_t b) { return a < b ? a : b; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 8,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = elementwise_all,
    .motion = orders_all,
    .range = of_sources,
    .facts = Facts{.broadcasts = true, .of_one_is_it = true, .unchanged = true},
};

} // namespace octet::onnx::op_Min
