// SPDX-License-Identifier: Apache-2.0
// BitwiseAnd (opset 18). c = a & b with broadcasting.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_BitwiseAnd {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_binary(infer_binary<kIntegerTypes>, ctx,
                     {.real = {},
                      .integer = [](int64_t a, int64_t b) { return a & b; },
                      .natural = [](uint64_t a, uint64_t b) { return a & b; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 18,
    .infer = infer_binary<kIntegerTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_BitwiseAnd
