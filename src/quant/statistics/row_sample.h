// SPDX-License-Identifier: Apache-2.0
// Rows along the last axis, a few hundred of all that there are, spread evenly over the data, and
// how large the numbers of each column are.
#pragma once

#include "quant/statistics/channel_magnitude.h"

namespace octet {

class RowSample final : public Statistic {
 public:
  static constexpr int64_t kMostRows = 256;

  explicit RowSample(int64_t columns) : columns_(columns), seen_(-1, columns) {}

  Status observe(const Tensor& values, const Tensor* mask) override;
  /// Always an error: which rows are taken depends on how many came before.
  Status merge(const Statistic& other) override;
  /// `rows` f32 [rows, columns], and those of ChannelMagnitude.
  std::vector<std::pair<std::string, Tensor>> state() const override;
  int64_t bytes() const override {
    return seen_.bytes() + kMostRows * columns_ * static_cast<int64_t>(sizeof(float));
  }

  const ChannelMagnitude& seen() const { return seen_; }
  int64_t columns() const { return columns_; }
  /// [rows, columns]; however the data is cut into batches.
  const std::vector<float>& rows() const { return rows_; }

 private:
  int64_t columns_;
  ChannelMagnitude seen_;
  int64_t count_ = 0, stride_ = 1; ///< rows so far; each so many-th is taken
  std::vector<float> rows_;
};

} // namespace octet
