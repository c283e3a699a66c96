// SPDX-License-Identifier: Apache-2.0
// Mean and variance of each channel, from exact sums of numbers and of their squares: what batch
// normalization takes of a batch.
#pragma once

#include <algorithm>

#include "core/format.h"
#include "quant/statistics/channel_magnitude.h"
#include "quant/statistics/channel_mean.h"

namespace octet {

class ChannelMoments final : public Statistic {
 public:
  /// `axis` may count from the end.
  ChannelMoments(int64_t axis, int64_t channels)
      : means_(axis, channels), magnitudes_(axis, channels) {}

  Status observe(const Tensor& values, const Tensor* mask) override {
    OCTET_TRY(means_.observe(values, mask));
    return magnitudes_.observe(values, mask);
  }
  Status merge(const Statistic& other) override {
    const auto* same = dynamic_cast<const ChannelMoments*>(&other);
    if (same == nullptr)
      return error("moments of channels cannot be merged with another statistic");
    OCTET_TRY(means_.merge(same->means_));
    return magnitudes_.merge(same->magnitudes_);
  }
  /// Those of ChannelMean and of ChannelMagnitude.
  std::vector<std::pair<std::string, Tensor>> state() const override {
    auto out = means_.state();
    for (auto& one : magnitudes_.state())
      out.push_back(std::move(one));
    return out;
  }
  int64_t bytes() const override { return means_.bytes() + magnitudes_.bytes(); }
  static constexpr int64_t bytes_for_channels(int64_t channels) {
    return ChannelMean::bytes_for_channels(channels) +
           ChannelMagnitude::bytes_for_channels(channels);
  }

  struct Moments {
    double mean = 0, variance = 0; ///< of all elements: squares over their number, not one less
  };
  /// One for each channel; an error where nothing was observed.
  Result<std::vector<Moments>> moments() const {
    const std::vector<double> means = OCTET_TRY(means_.means());
    const std::vector<double> squares = magnitudes_.mean_squares();
    std::vector<Moments> out;
    for (size_t c = 0; c < means.size(); ++c)
      out.push_back({means[c], std::max(squares[c] - means[c] * means[c], 0.0)});
    return out;
  }

 private:
  ChannelMean means_;
  ChannelMagnitude magnitudes_;
};

} // namespace octet
