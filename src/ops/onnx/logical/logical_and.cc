// SPDX-License-Identifier: Apache-2.0
// And (opset 7). True where both of a and b hold, with broadcasting.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_And {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_binary(infer_binary<kBoolType>, ctx,
                     {.real = {}, .integer = {}, .natural = [](uint64_t a, uint64_t b) {
                        return uint64_t{a != 0 && b != 0};
                      }});
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer_binary<kBoolType>,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_And
