// SPDX-License-Identifier: Apache-2.0
// Erf (opset 9). Integer types round the result towards zero, as the reference evaluator does.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Erf {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(
      infer_unary<kNumericTypes>, ctx,
      {.real = [](double x) { return std::erf(x); },
       .integer = [](int64_t x) { return static_cast<int64_t>(std::erf(static_cast<double>(x))); },
       .natural = [](uint64_t x) { return uint64_t{std::erf(static_cast<double>(x)) >= 1}; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer_unary<kNumericTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<-1, 1>,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Erf
