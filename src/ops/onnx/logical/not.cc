// SPDX-License-Identifier: Apache-2.0
// Not (opset 1), of truth values.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Not {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(
      infer_unary<kBoolType>, ctx,
      {.real = {}, .integer = {}, .natural = [](uint64_t x) { return uint64_t{x == 0}; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_unary<kBoolType>,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.involution = true, .unchanged = true},
};

} // namespace octet::onnx::op_Not
