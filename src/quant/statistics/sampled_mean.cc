// SPDX-License-Identifier: Apache-2.0
#include "quant/statistics/sampled_mean.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quant/channels.h"

namespace octet {

namespace {

/// Sizes and steps in memory, by the value's own axes.
struct Axes {
  std::vector<int64_t> size, step;
};

Axes axes_of(const Tensor& stored, std::span<const int64_t> order) {
  const auto rank = static_cast<size_t>(stored.rank());
  Axes out{std::vector<int64_t>(rank), std::vector<int64_t>(rank)};
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    const size_t own = order.empty() ? i : static_cast<size_t>(order[i]);
    out.size[own] = stored.dim(static_cast<int64_t>(i));
    out.step[own] = step;
    step *= out.size[own];
  }
  return out;
}

/// Where the positions that are looked at lie, from the first on. They are the multiples of the
/// golden section in the list of all: near to evenly spaced, and in no step with rows.
std::vector<int64_t> sample(const Axes& all, std::span<const size_t> axes) {
  int64_t count = 1;
  for (const size_t a : axes)
    count *= all.size[a];
  const int64_t wanted = std::min(count, SampledMean::kMostPositions);
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(wanted));
  for (int64_t j = 0; j < wanted; ++j) {
    int64_t position = j;
    if (count > wanted) {
      constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
      const uint64_t fraction = (static_cast<uint64_t>(j) * kGolden) >> 32;
      position = static_cast<int64_t>(
          (static_cast<unsigned __int128>(fraction) * static_cast<uint64_t>(count)) >> 32);
    }
    int64_t at = 0;
    for (size_t i = axes.size(); i-- > 0;) {
      at += position % all.size[axes[i]] * all.step[axes[i]];
      position /= all.size[axes[i]];
    }
    out.push_back(at);
  }
  return out;
}

} // namespace

void SampledMean::observe(const Tensor& stored, std::span<const int64_t> axes, const Tensor* mask) {
  if (unknown_ || stored.count() == 0) return;
  const Axes all = axes_of(stored, axes);
  const auto rank = static_cast<int64_t>(all.size.size());
  const int64_t channel_axis = axis_ < 0 ? axis_ + rank : axis_;
  unknown_ = channel_axis < 0 || channel_axis >= rank || !is_float(stored.type());
  if (unknown_) return;
  const auto c = static_cast<size_t>(channel_axis);
  if (sums_.empty()) {
    sums_.resize(static_cast<size_t>(all.size[c]));
    counts_.resize(sums_.size());
  }
  const Result<Floats> floats = Floats::of(stored);
  unknown_ = std::ssize(sums_) != all.size[c] || !floats.ok();
  if (unknown_) return;
  const std::span<const float> x = floats->get();
  const Mask keep(stored, mask);

  std::vector<size_t> others;
  for (size_t a = 1; a < all.size.size(); ++a)
    if (a != c) others.push_back(a);
  const std::vector<int64_t> positions = sample(all, others);
  const int64_t examples = c == 0 ? 1 : all.size[0];
  // Of one example and channel in the order of the positions, whatever the order in memory.
  std::vector<double> sums(sums_.size());
  const auto each = [&](int64_t begin, const auto& take) {
    const auto at = [&](int64_t position, size_t channel) {
      return static_cast<size_t>(begin + position + static_cast<int64_t>(channel) * all.step[c]);
    };
    if (all.step[c] == 1) {
      for (const int64_t position : positions)
        for (size_t channel = 0; channel < sums.size(); ++channel)
          take(at(position, channel), channel);
    } else {
      for (size_t channel = 0; channel < sums.size(); ++channel)
        for (const int64_t position : positions)
          take(at(position, channel), channel);
    }
  };
  for (int64_t e = 0; e < examples; ++e) {
    const int64_t begin = c == 0 ? 0 : e * all.step[0];
    std::fill(sums.begin(), sums.end(), 0.0);
    if (mask == nullptr)
      each(begin, [&](size_t at, size_t channel) { sums[channel] += static_cast<double>(x[at]); });
    else
      each(begin, [&](size_t at, size_t channel) {
        if (!keep(static_cast<int64_t>(at))) return;
        sums[channel] += static_cast<double>(x[at]);
        ++counts_[channel];
      });
    for (size_t channel = 0; channel < sums.size(); ++channel) {
      unknown_ = unknown_ || !std::isfinite(sums[channel]);
      if (unknown_) return;
      sums_[channel].add(sums[channel]);
      if (mask == nullptr) counts_[channel] += std::ssize(positions);
    }
  }
}

std::vector<float> SampledMean::means() const {
  std::vector<float> out;
  if (unknown_) return out;
  for (size_t channel = 0; channel < sums_.size(); ++channel) {
    if (counts_[channel] == 0) return {};
    out.push_back(
        static_cast<float>(sums_[channel].value() / static_cast<double>(counts_[channel])));
  }
  return out;
}

} // namespace octet
