// SPDX-License-Identifier: Apache-2.0
// SoftmaxCrossEntropyLoss (opset 12, 13). Scores [N, C, d...], labels [N, d...], weights [C]
// (optional). The negative log likelihood of log softmax over axis 1; the second output is that log
// softmax.
#include "ops/shared/axis_split.h"
#include "ops/shared/class_loss.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_SoftmaxCrossEntropyLoss {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  auto outputs = OCTET_TRY(infer_class_loss(c));
  outputs.emplace_back(c.input(0).type);
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& scores = c.inputs[0];
  auto x = OCTET_TRY(scores.to_doubles());
  const AxisSplit split{scores.dim(0), scores.dim(1),
                        product(scores.shape(), 2, scores.shape().size())};
  for_each_line(split, x, log_softmax_line);
  std::vector<Tensor> results = one(OCTET_TRY(class_loss(c, x)));
  results.push_back(OCTET_TRY(rounded(scores.type(), scores.shape(), x)));
  return results;
}

} // namespace

extern const OpFacets facets = {
    .since = 12,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_SoftmaxCrossEntropyLoss
