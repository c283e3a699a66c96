// SPDX-License-Identifier: Apache-2.0
// RandomNormal (opset 1 to 22). Normal numbers of the attributes mean and scale; the shape is an
// attribute.
#include "ops/shared/random.h"

namespace octet::onnx::op_RandomNormal {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_random(infer_random, ctx, Distribution::kNormal);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_random,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.random = true, .unchanged = true},
};

} // namespace octet::onnx::op_RandomNormal
