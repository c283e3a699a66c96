// SPDX-License-Identifier: Apache-2.0
// ArgMax (opset 1). The index of the largest element along `axis`, as int64.
#include "ops/shared/arg_best.h"

namespace octet::onnx::op_ArgMax {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_arg_best(ctx);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_arg_best(ctx, Best::kLargest);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_ArgMax
