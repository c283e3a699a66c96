// SPDX-License-Identifier: Apache-2.0
// A data set whose description names its content, so that a run is resumed on the very examples
// that it began with: the trainer compares descriptions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/dataset.h"

namespace octet::cli {

/// Hashes the batches of the first pass: texts, labels, vocabulary, length, masks and pairs all
/// show in them. Of a set beyond kMostBytes rows spread over it stand for the others.
class ContentDataset final : public Dataset {
 public:
  /// `data` outlives it.
  explicit ContentDataset(const Dataset& data);

  std::string description() const override { return description_; }
  int64_t size() const override { return data_.size(); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return data_.features();
  }
  const std::vector<std::string>& classes() const override { return data_.classes(); }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    return data_.batch(indices);
  }
  Result<Batch> batch_at(std::span<const int64_t> indices, int64_t epoch) const override {
    return data_.batch_at(indices, epoch);
  }
  int64_t length(int64_t index) const override { return data_.length(index); }

 private:
  const Dataset& data_;
  std::string description_;
};

} // namespace octet::cli
