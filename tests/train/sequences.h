// SPDX-License-Identifier: Apache-2.0
// Sequences of different lengths with a label for some of their elements and one for each whole.
#pragma once

#include <string>
#include <vector>

#include "octet/dataset.h"
#include "octet/train.h"

namespace octet::test {

/// Example i has 3 + i % 5 elements of two numbers; padding holds zeros. Target "signs" i64[N, S]:
/// which of the two is larger, -100 for padding and for every third element. Labels: whether the
/// sum of all first numbers is positive.
class Sequences final : public Dataset {
 public:
  explicit Sequences(int64_t count, uint64_t seed = 1);
  std::string description() const override { return "sequences"; }
  int64_t size() const override { return count_; }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override;
  int64_t length(int64_t index) const override { return 3 + index % 5; }

 private:
  int64_t count_;
  uint64_t seed_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_{"low", "high"};
};

/// Outputs `sign_logits: f32[N, S, 2]` and `sum_logits: f32[N, 2]`, which share the first layer. It
/// has no bias, so that padding adds nothing.
Graph sequence_network();
/// Both losses, the second one weighted by a half.
TrainOptions sequence_options();

} // namespace octet::test
