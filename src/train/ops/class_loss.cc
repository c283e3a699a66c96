// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. Scores: [N, C, d...], labels: [N, d...],
// weights: [C]. The mean divides by the sum of the weights that took part.
#include <optional>

#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones_like.h>

using octet::train::Call;
using octet::train::Prepare;
using octet::train::widened;

namespace {

struct ClassLoss {
  explicit ClassLoss(const octet::Node& node) : reduction(node.attr_string("reduction", "mean")) {
    if (node.has_attr("ignore_index")) ignored = node.attr_int("ignore_index", 0);
  }
  std::string reduction;
  std::optional<int64_t> ignored;
};

at::Tensor class_loss_of(const Call& c, const ClassLoss& a, const at::Tensor& log_probabilities) {
  at::Tensor labels = c.in(1).to(log_probabilities.device(), at::kLong);
  at::Tensor skipped;
  if (a.ignored) {
    skipped = labels == *a.ignored;
    labels = labels.masked_fill(skipped, 0);
  }
  const at::Tensor own = at::gather(log_probabilities, 1, labels.unsqueeze(1)).squeeze(1);
  at::Tensor weight = at::ones_like(own).detach();
  if (c.has(2))
    weight = at::index_select(c.in(2).to(own.scalar_type()), 0, labels.reshape({-1}))
                 .reshape(labels.sizes());
  if (skipped.defined()) weight = weight.masked_fill(skipped, 0);
  at::Tensor loss = -(weight * own);
  if (skipped.defined()) loss = loss.masked_fill(skipped, 0); // also where a score is infinite
  if (a.reduction == "none") return loss;
  return a.reduction == "mean" ? loss.sum() / weight.sum() : loss.sum();
}

} // namespace

OCTET_TORCH(onnx, NegativeLogLikelihoodLoss) {
  return [a = ClassLoss(p.node)](Call& c) {
    c.out(class_loss_of(c, a, widened(c.in(0))).to(c.in(0).scalar_type()));
  };
}

OCTET_TORCH(onnx, SoftmaxCrossEntropyLoss) {
  return [a = ClassLoss(p.node)](Call& c) {
    const at::Tensor log_probabilities = at::log_softmax(widened(c.in(0)), 1);
    c.out(class_loss_of(c, a, log_probabilities).to(c.in(0).scalar_type()));
    c.out(log_probabilities.to(c.in(0).scalar_type()), 1);
  };
}
