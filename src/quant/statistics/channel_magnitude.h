// SPDX-License-Identifier: Apache-2.0
// How large the numbers of each channel are: the largest magnitude and the mean square.
#pragma once

#include "quant/statistics/long_sum.h"
#include "quant/statistics/statistic.h"

namespace octet {

class ChannelMagnitude final : public Statistic {
 public:
  /// `axis` may count from the end.
  ChannelMagnitude(int64_t axis, int64_t channels)
      : axis_(axis), largest_(static_cast<size_t>(channels)),
        squares_(static_cast<size_t>(channels)), counts_(static_cast<size_t>(channels)) {}

  Status observe(const Tensor& values, const Tensor* mask) override;
  Status merge(const Statistic& other) override;
  /// `largest` f32 [channels], `square_sum` i64 [channels, digits], `count` i64 [channels].
  std::vector<std::pair<std::string, Tensor>> state() const override;
  int64_t bytes() const override {
    return bytes_for_channels(static_cast<int64_t>(squares_.size()));
  }
  static constexpr int64_t bytes_for_channels(int64_t channels) {
    return channels * static_cast<int64_t>(sizeof(float) + sizeof(LongSum) + sizeof(int64_t));
  }

  /// max |x|; 0 for what was never observed.
  const std::vector<float>& largest() const { return largest_; }
  /// The mean of x squared; 0 for what was never observed.
  std::vector<double> mean_squares() const;

 private:
  int64_t axis_;
  std::vector<float> largest_;
  std::vector<LongSum> squares_;
  std::vector<int64_t> counts_;
};

} // namespace octet
