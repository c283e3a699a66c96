// SPDX-License-Identifier: Apache-2.0
// RandomUniform (opset 1 to 22). Numbers between low and high, all as likely; the shape is an
// attribute.
#include "ops/shared/random.h"

namespace octet::onnx::op_RandomUniform {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_random(infer_random, ctx, Distribution::kUniform);
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

} // namespace octet::onnx::op_RandomUniform
