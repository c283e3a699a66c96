// SPDX-License-Identifier: Apache-2.0
// GreaterOrEqual (opset 12). True where a is at least b, with broadcasting; false for NaN.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_GreaterOrEqual {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_binary(infer_binary<kNumericTypes, DType::kBool>, ctx,
                     {.real = [](double a, double b) { return a >= b ? 1.0 : 0.0; },
                      .integer = [](int64_t a, int64_t b) { return int64_t{a >= b}; },
                      .natural = [](uint64_t a, uint64_t b) { return uint64_t{a >= b}; }},
                     DType::kBool);
}

} // namespace

extern const OpFacets facets = {
    .since = 12,
    .infer = infer_binary<kNumericTypes, DType::kBool>,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_GreaterOrEqual
