// SPDX-License-Identifier: Apache-2.0
#include "quant/statistics/channel_mean.h"

#include "quant/statistics/finite_channels.h"

namespace octet {

Status ChannelMean::observe(const Tensor& values, const Tensor* mask) {
  const auto batch = OCTET_TRY(FiniteChannels::of(values, mask, axis_, sums_.size()));
  batch.each([&](size_t channel, float x) {
    sums_[channel].add(static_cast<double>(x));
    ++counts_[channel];
  });
  return ok_status();
}

Status ChannelMean::merge(const Statistic& other) {
  const auto* same = dynamic_cast<const ChannelMean*>(&other);
  if (same == nullptr || same->sums_.size() != sums_.size())
    return error("a mean of {} channels cannot be merged with another statistic", sums_.size());
  for (size_t c = 0; c < sums_.size(); ++c) {
    sums_[c].merge(same->sums_[c]);
    counts_[c] += same->counts_[c];
  }
  return ok_status();
}

std::vector<std::pair<std::string, Tensor>> ChannelMean::state() const {
  return {{"sum", digits_of(sums_)},
          {"count", Tensor::of<int64_t>({static_cast<int64_t>(counts_.size())},
                                        std::span<const int64_t>(counts_))}};
}

Result<std::vector<double>> ChannelMean::means() const {
  std::vector<double> out(sums_.size());
  for (size_t c = 0; c < sums_.size(); ++c) {
    if (counts_[c] == 0) return error("nothing was observed of channel {}", c);
    out[c] = sums_[c].value() / static_cast<double>(counts_[c]);
  }
  return out;
}

} // namespace octet
