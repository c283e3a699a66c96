// SPDX-License-Identifier: Apache-2.0
// RandomNormalLike (opset 1 to 22). As RandomNormal, in the shape of the input.
#include "ops/shared/random.h"

namespace octet::onnx::op_RandomNormalLike {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_random(infer_random_like, ctx, Distribution::kNormal);
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

} // namespace octet::onnx::op_RandomNormalLike
