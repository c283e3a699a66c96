// SPDX-License-Identifier: Apache-2.0
// Binarizer (ai.onnx.ml 1). y = x > threshold ? 1 : 0 in the type of x; a NaN gives 0.
#include "ops/ml/scores.h"

namespace octet::ml::op_Binarizer {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFeatureTypes));
  return one(ctx.input(0).type);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const double threshold = ctx.node.attr_float("threshold", 0);
  auto x = OCTET_TRY(ctx.inputs[0].to_doubles());
  for (double& v : x)
    v = v > threshold ? 1 : 0;
  return one(OCTET_TRY(rounded(ctx.inputs[0].type(), shape, x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = within<0, 1>,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_Binarizer
