// SPDX-License-Identifier: Apache-2.0
// BitwiseNot (opset 18).
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_BitwiseNot {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer_unary<kIntegerTypes>, ctx,
                    {.real = {},
                     .integer = [](int64_t x) { return ~x; },
                     .natural = [](uint64_t x) { return ~x; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 18,
    .infer = infer_unary<kIntegerTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.involution = true, .unchanged = true},
};

} // namespace octet::onnx::op_BitwiseNot
