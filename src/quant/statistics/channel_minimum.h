// SPDX-License-Identifier: Apache-2.0
// The smallest number of each channel.
#pragma once

#include "quant/statistics/statistic.h"

namespace octet {

class ChannelMinimum final : public Statistic {
 public:
  /// `axis` may count from the end.
  ChannelMinimum(int64_t axis, int64_t channels);

  Status observe(const Tensor& values, const Tensor* mask) override;
  Status merge(const Statistic& other) override;
  /// `smallest` f32 [channels].
  std::vector<std::pair<std::string, Tensor>> state() const override;
  int64_t bytes() const override {
    return bytes_for_channels(static_cast<int64_t>(smallest_.size()));
  }
  static constexpr int64_t bytes_for_channels(int64_t channels) {
    return channels * static_cast<int64_t>(sizeof(float));
  }

  /// Infinite where nothing was observed.
  const std::vector<float>& smallest() const { return smallest_; }

 private:
  int64_t axis_;
  std::vector<float> smallest_;
};

} // namespace octet
