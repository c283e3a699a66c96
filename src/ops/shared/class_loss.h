// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: labels, class weights, reduction.
// Scores: [N, C, d...], labels: [N, d...], weights: [C].
#pragma once

#include "ops/shared/types.h"

namespace octet {

/// Inputs scores, labels, weights (optional). The loss has the labels' shape, or is a scalar when
/// it is reduced.
Result<std::vector<OutputInfo>> infer_class_loss(const InferContext& ctx);
/// loss = -weight[label] * log_probability[label], 0 where the label is ignore_index; the mean
/// divides by the sum of the weights that took part. Errors: a label outside the classes.
Result<Tensor> class_loss(const EvalContext& ctx, std::span<const double> log_probabilities);

} // namespace octet
