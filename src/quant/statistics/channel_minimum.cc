// SPDX-License-Identifier: Apache-2.0
#include "quant/statistics/channel_minimum.h"

#include <algorithm>
#include <limits>

#include "quant/statistics/finite_channels.h"

namespace octet {

ChannelMinimum::ChannelMinimum(int64_t axis, int64_t channels)
    : axis_(axis),
      smallest_(static_cast<size_t>(channels), std::numeric_limits<float>::infinity()) {}

Status ChannelMinimum::observe(const Tensor& values, const Tensor* mask) {
  const auto batch = OCTET_TRY(FiniteChannels::of(values, mask, axis_, smallest_.size()));
  batch.each(
      [&](size_t channel, float x) { smallest_[channel] = std::min(smallest_[channel], x); });
  return ok_status();
}

Status ChannelMinimum::merge(const Statistic& other) {
  const auto* same = dynamic_cast<const ChannelMinimum*>(&other);
  if (same == nullptr || same->smallest_.size() != smallest_.size())
    return error("the smallest numbers of {} channels cannot be merged with another statistic",
                 smallest_.size());
  for (size_t c = 0; c < smallest_.size(); ++c)
    smallest_[c] = std::min(smallest_[c], same->smallest_[c]);
  return ok_status();
}

std::vector<std::pair<std::string, Tensor>> ChannelMinimum::state() const {
  const Shape shape = {static_cast<int64_t>(smallest_.size())};
  return {{"smallest", Tensor::of<float>(shape, std::span<const float>(smallest_))}};
}

} // namespace octet
