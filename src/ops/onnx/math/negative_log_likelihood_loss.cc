// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss (opset 12 to 22). x: log probabilities [N, C, d...], labels: [N, d...],
// weights: [C] (optional). loss = -weight[label] * x[label], reduced by none, sum or (weighted)
// mean.
#include "ops/shared/class_loss.h"

namespace octet::onnx::op_NegativeLogLikelihoodLoss {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer_class_loss, c));
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  return one(OCTET_TRY(class_loss(c, x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 12,
    .infer = infer_class_loss,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_NegativeLogLikelihoodLoss
