// SPDX-License-Identifier: Apache-2.0
#include "quant/statistics/channel_magnitude.h"

#include <algorithm>
#include <cmath>

#include "quant/statistics/finite_channels.h"

namespace octet {

Status ChannelMagnitude::observe(const Tensor& values, const Tensor* mask) {
  const auto batch = OCTET_TRY(FiniteChannels::of(values, mask, axis_, squares_.size()));
  batch.each([&](size_t channel, float x) {
    largest_[channel] = std::max(largest_[channel], std::fabs(x));
    squares_[channel].add(static_cast<double>(x) * static_cast<double>(x)); // exact in double
    ++counts_[channel];
  });
  return ok_status();
}

Status ChannelMagnitude::merge(const Statistic& other) {
  const auto* same = dynamic_cast<const ChannelMagnitude*>(&other);
  if (same == nullptr || same->squares_.size() != squares_.size())
    return error("magnitudes of {} channels cannot be merged with another statistic",
                 squares_.size());
  for (size_t c = 0; c < squares_.size(); ++c) {
    largest_[c] = std::max(largest_[c], same->largest_[c]);
    squares_[c].merge(same->squares_[c]);
    counts_[c] += same->counts_[c];
  }
  return ok_status();
}

std::vector<std::pair<std::string, Tensor>> ChannelMagnitude::state() const {
  const Shape shape = {static_cast<int64_t>(counts_.size())};
  return {{"largest", Tensor::of<float>(shape, std::span<const float>(largest_))},
          {"square_sum", digits_of(squares_)},
          {"count", Tensor::of<int64_t>(shape, std::span<const int64_t>(counts_))}};
}

std::vector<double> ChannelMagnitude::mean_squares() const {
  std::vector<double> out(squares_.size());
  for (size_t c = 0; c < squares_.size(); ++c)
    if (counts_[c] > 0) out[c] = squares_[c].value() / static_cast<double>(counts_[c]);
  return out;
}

} // namespace octet
