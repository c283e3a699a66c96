// SPDX-License-Identifier: Apache-2.0
// What NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss share.
#include "ops/shared/class_loss.h"

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet {

Result<std::vector<OutputInfo>> infer_class_loss(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  OCTET_TRY(check_input(c, 1, kIndexTypes));
  OCTET_TRY(check_optional(c, 2, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 2, 16));
  const std::string reduction = c.node.attr_string("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return error("reduction \"{}\"; use none, sum or mean", reduction);
  const TypeInfo &x = c.input(0).type, &labels = c.input(1).type;
  if (x.has_rank() && labels.has_rank()) {
    OCTET_TRY(check_rank(c, 1, x.rank() - 1, x.rank() - 1));
    for (size_t i = 0; i < labels.shape->size(); ++i)
      OCTET_TRY(merge_dims((*x.shape)[i == 0 ? 0 : i + 1], (*labels.shape)[i],
                           "sizes of scores and labels"));
  }
  if (x.has_rank()) OCTET_TRY(check_vector(c, 2, (*x.shape)[1], "class weights and classes"));
  if (reduction != "none") return one(x.type, std::vector<Dim>());
  return one(x.type, labels.shape);
}

Result<Tensor> class_loss(const EvalContext& c, std::span<const double> log_probabilities) {
  const Tensor& x = c.inputs[0];
  const auto labels = OCTET_TRY(c.inputs[1].to_ints());
  std::vector<double> weights(static_cast<size_t>(x.dim(1)), 1.0);
  if (c.has(2)) weights = OCTET_TRY(c.inputs[2].to_doubles());
  const bool ignores = c.node.has_attr("ignore_index");
  const int64_t ignored = c.node.attr_int("ignore_index", 0);
  const int64_t classes = x.dim(1), plane = product(x.shape(), 2, x.shape().size());
  std::vector<double> loss(labels.size());
  double sum = 0, weight_sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (ignores && labels[i] == ignored) continue;
    if (labels[i] < 0 || labels[i] >= classes)
      return error("label {} is none of {} classes; set ignore_index to skip it", labels[i],
                   classes);
    const double weight = weights[static_cast<size_t>(labels[i])];
    const auto at = static_cast<int64_t>(i);
    loss[i] = -weight * log_probabilities[static_cast<size_t>(
                            (at / plane * classes + labels[i]) * plane + at % plane)];
    sum += loss[i];
    weight_sum += weight;
  }
  const std::string reduction = c.node.attr_string("reduction", "mean");
  if (reduction == "none") return rounded(x.type(), c.inputs[1].shape(), loss);
  if (reduction == "mean") sum /= weight_sum;
  return rounded(x.type(), {}, std::span(&sum, 1));
}

} // namespace octet
