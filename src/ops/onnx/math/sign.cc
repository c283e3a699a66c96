// SPDX-License-Identifier: Apache-2.0
// Sign (opset 9). -1, 0 or 1; NaN stays NaN.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Sign {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(
      infer_unary<kNumericTypes>, ctx,
      {.real = [](double x) { return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x); },
       .integer = [](int64_t x) { return int64_t{x > 0} - int64_t{x < 0}; },
       .natural = [](uint64_t x) { return uint64_t{x != 0}; }});
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
    .facts = Facts{.idempotent = true, .exact = true, .unchanged = true},
};

} // namespace octet::onnx::op_Sign
