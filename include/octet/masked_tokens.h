// SPDX-License-Identifier: Apache-2.0
// How well a language model finds hidden tokens.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "octet/tensor.h"

namespace octet {

/// Softmax of one row of scores in double precision.
std::vector<double> softmax(std::span<const float> scores);

/// Counts over the masked tokens of any number of batches.
class MaskedTokens {
 public:
  /// logits f32[..., V] and labels i64 or i32[...], one label a row; labels below 0 are not
  /// counted. Errors: shapes that do not fit, a label of V or more.
  Status add(const Tensor& logits, const Tensor& labels);

  int64_t count() const { return static_cast<int64_t>(labels_.size()); }
  double top1() const { return share(hits1_); }
  double top5() const { return share(hits5_); }
  std::pair<double, double> top1_interval() const; ///< 95 % (Wilson 1927)
  std::pair<double, double> top5_interval() const;
  /// Mean of -log p(label), in nats, its 95 % interval (1.96 standard errors), and e to that power.
  double loss() const;
  std::pair<double, double> loss_interval() const;
  double perplexity() const;
  /// What was hidden and what was guessed, in the order of the batches.
  const std::vector<int64_t>& labels() const { return labels_; }
  const std::vector<int64_t>& predictions() const { return predictions_; }

  /// What knowing only how often each token comes would reach on the same labels: the entropy of
  /// their distribution in nats, and the share of the commonest one.
  double unigram_entropy() const;
  double unigram_top1() const;

 private:
  double share(int64_t hits) const;
  void add_row(std::span<const float> scores, int64_t label);

  int64_t hits1_ = 0, hits5_ = 0;
  double loss_sum_ = 0, loss_square_sum_ = 0;
  std::vector<int64_t> labels_, predictions_;
};

} // namespace octet
