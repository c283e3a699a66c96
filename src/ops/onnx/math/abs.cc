// SPDX-License-Identifier: Apache-2.0
// Abs (opset 6). The most negative integer keeps its value, as in two's complement.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Abs {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer_unary<kNumericTypes>, ctx,
                    {.real = [](double x) { return std::abs(x); },
                     .integer = [](int64_t x) { return x < 0 ? wrap_sub(0, x) : x; },
                     .natural = [](uint64_t x) { return x; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer_unary<kNumericTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = not_negative,
    .facts = Facts{.idempotent = true, .exact = true, .by_magnitude = true, .unchanged = true},
};

} // namespace octet::onnx::op_Abs
