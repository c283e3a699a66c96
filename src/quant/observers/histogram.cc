// SPDX-License-Identifier: Apache-2.0
// Histogram with a width that doubles: see histogram.h.
#include "quant/observers/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace octet {

namespace {

constexpr size_t kTogether = 1024;
/// From here on it pays to count neighbours apart.
constexpr size_t kMany = 16384;

void halve(std::vector<uint64_t>& bins, int doublings) {
  if (bins.empty()) return;
  std::vector<uint64_t> merged(bins.size(), 0);
  for (size_t i = 0; i < bins.size(); ++i) {
    const size_t to = doublings > kBinsLog2 ? 0 : i >> static_cast<unsigned>(doublings);
    merged[to] += bins[i];
  }
  bins = std::move(merged);
}

void add_bins(std::vector<uint64_t>& to, std::span<const uint64_t> from) {
  if (from.empty()) return;
  if (to.empty()) to.assign(Histogram::kBins, 0);
  for (size_t i = 0; i < from.size(); ++i)
    to[i] += from[i];
}

} // namespace

int Histogram::exponent_for(double magnitude) {
  int e = 0;
  std::frexp(magnitude, &e); // magnitude < 2^e, and it is the smallest such e
  return e - kBinsLog2;
}

void Histogram::widen(int exponent) {
  if (has_width_ && exponent > exponent_) {
    halve(positive_, exponent - exponent_);
    halve(negative_, exponent - exponent_);
  }
  exponent_ = has_width_ ? std::max(exponent_, exponent) : exponent;
  has_width_ = true;
}

void Histogram::add(std::span<const float> finite) {
  if (!finite.empty()) add(finite, extremes_of(finite));
}

void Histogram::add(std::span<const float> finite, Extremes extremes) {
  const auto [lo, hi] = extremes;
  min_ = count_ == 0 ? lo : std::min(min_, static_cast<double>(lo));
  max_ = count_ == 0 ? hi : std::max(max_, static_cast<double>(hi));
  count_ += static_cast<int64_t>(finite.size());
  const double magnitude = std::max(std::fabs(lo), std::fabs(hi));
  if (magnitude == 0) {
    zeros_ += static_cast<int64_t>(finite.size());
    return;
  }
  widen(exponent_for(magnitude));
  if (lo < 0 && negative_.empty()) negative_.assign(kBins, 0);
  if (hi > 0 && positive_.empty()) positive_.assign(kBins, 0);
  if (finite.size() >= kMany)
    count_many(finite);
  else
    count(finite);
}

void Histogram::count(std::span<const float> some) {
  const ObserverLoops& loops = observer_loops();
  std::array<uint16_t, kTogether> place;
  uint64_t zeros = 0;
  uint64_t* const counts[3] = {positive_.data(), negative_.data(), &zeros};
  for (size_t begin = 0; begin < some.size(); begin += kTogether) {
    const size_t n = std::min(kTogether, some.size() - begin);
    loops.places(some.data() + begin, static_cast<int64_t>(n), exponent_, place.data());
    for (size_t i = 0; i < n; ++i)
      ++counts[place[i] >> kBinsLog2][place[i] & (kBins - 1)];
  }
  zeros_ += static_cast<int64_t>(zeros);
}

/// Neighbours often have one place, and adding one to it twice takes the time of a store and a load
/// each: they are counted apart, in numbers so small that all four counts stay in a cache.
void Histogram::count_many(std::span<const float> many) {
  constexpr size_t kApart = 4;
  constexpr size_t kMost = kApart * std::numeric_limits<uint16_t>::max() / kTogether * kTogether;
  const ObserverLoops& loops = observer_loops();
  std::array<uint16_t, kTogether> place;
  std::array<std::array<uint16_t, kPlaceOfZero + 1>, kApart> apart{};
  while (!many.empty()) {
    const std::span<const float> some = many.first(std::min(kMost, many.size()));
    many = many.subspan(some.size());
    for (auto& counts : apart)
      counts.fill(0);
    for (size_t begin = 0; begin < some.size(); begin += kTogether) {
      const size_t n = std::min(kTogether, some.size() - begin);
      loops.places(some.data() + begin, static_cast<int64_t>(n), exponent_, place.data());
      size_t i = 0;
      for (; i + kApart <= n; i += kApart) {
        ++apart[0][place[i]];
        ++apart[1][place[i + 1]];
        ++apart[2][place[i + 2]];
        ++apart[3][place[i + 3]];
      }
      for (; i < n; ++i)
        ++apart[0][place[i]];
    }
    const auto sum = [&](size_t at) {
      return uint64_t{apart[0][at]} + apart[1][at] + apart[2][at] + apart[3][at];
    };
    for (size_t i = 0; i < positive_.size(); ++i)
      positive_[i] += sum(i);
    for (size_t i = 0; i < negative_.size(); ++i)
      negative_[i] += sum(kBins + i);
    zeros_ += static_cast<int64_t>(sum(kPlaceOfZero));
  }
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  zeros_ += other.zeros_;
  if (!other.has_width_) return;
  Histogram theirs = other;
  widen(other.exponent_);
  theirs.widen(exponent_);
  add_bins(positive_, theirs.positive_);
  add_bins(negative_, theirs.negative_);
}

double Histogram::max_magnitude() const {
  return std::max(std::fabs(min_), std::fabs(max_));
}

double Histogram::width() const {
  return has_width_ ? std::ldexp(1.0, exponent_) : 1.0;
}

std::vector<uint64_t> Histogram::magnitudes() const {
  const auto top = static_cast<size_t>(max_magnitude() / width());
  std::vector<uint64_t> bins(top + 1, 0);
  for (size_t i = 0; i <= top; ++i) {
    if (!positive_.empty()) bins[i] += positive_[i];
    if (!negative_.empty()) bins[i] += negative_[i];
  }
  bins[0] += static_cast<uint64_t>(zeros_);
  return bins;
}

size_t Histogram::state_bytes() const {
  return sizeof(*this) + (positive_.capacity() + negative_.capacity()) * sizeof(uint64_t);
}

} // namespace octet
