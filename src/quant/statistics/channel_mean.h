// SPDX-License-Identifier: Apache-2.0
// The mean of each channel, from exact sums. The mean error that quantization makes is the
// difference of two: of the float network and of the quantized one.
#pragma once

#include "quant/statistics/long_sum.h"
#include "quant/statistics/statistic.h"

namespace octet {

class ChannelMean final : public Statistic {
 public:
  /// `axis` may count from the end.
  ChannelMean(int64_t axis, int64_t channels)
      : axis_(axis), sums_(static_cast<size_t>(channels)), counts_(static_cast<size_t>(channels)) {}

  Status observe(const Tensor& values, const Tensor* mask) override;
  Status merge(const Statistic& other) override;
  /// `sum` i64 [channels, digits], `count` i64 [channels].
  std::vector<std::pair<std::string, Tensor>> state() const override;
  int64_t bytes() const override { return bytes_for_channels(static_cast<int64_t>(sums_.size())); }
  static constexpr int64_t bytes_for_channels(int64_t channels) {
    return channels * static_cast<int64_t>(sizeof(LongSum) + sizeof(int64_t));
  }

  /// One for each channel; an error where nothing was observed.
  Result<std::vector<double>> means() const;

 private:
  int64_t axis_;
  std::vector<LongSum> sums_;
  std::vector<int64_t> counts_;
};

} // namespace octet
