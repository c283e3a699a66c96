// SPDX-License-Identifier: Apache-2.0
// What training minimizes.
#pragma once

#include <ATen/core/Tensor.h>

#include "octet/train.h"

namespace octet::train {

struct LossPlan {
  LossKind kind = LossKind::kCrossEntropy;
  ValueId value;       ///< what the loss reads: logits, or the output
  int64_t classes = 0; ///< size of its last axis; 0: not known
};

/// Cross-entropy reads the input of the Softmax or LogSoftmax over the last axis that makes the
/// first output, also when Q/DQ stand between them, since log-softmax of logits is accurate where
/// the logarithm of a softmax is not; without one the output counts as logits.
/// Errors: no labels for a loss that needs them.
Result<LossPlan> plan_loss(const Graph& graph, LossKind kind, bool has_labels);

struct LossValue {
  at::Tensor loss;     ///< mean over the examples
  int64_t correct = 0; ///< examples whose largest output is the label's
};

/// `output`: [N, classes] or [N, classes, ...]; labels: i64[N].
LossValue compute_loss(const LossPlan& plan,
                       const at::Tensor& output,
                       const at::Tensor& labels,
                       double smoothing);

} // namespace octet::train
