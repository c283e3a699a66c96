// SPDX-License-Identifier: Apache-2.0
// RandomUniformLike (opset 1 to 22). As RandomUniform, in the shape of the input.
#include "ops/shared/random.h"

namespace octet::onnx::op_RandomUniformLike {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_random(infer_random_like, ctx, Distribution::kUniform);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_random_like,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.random = true, .unchanged = true},
};

} // namespace octet::onnx::op_RandomUniformLike
