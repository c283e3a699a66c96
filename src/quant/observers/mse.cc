// SPDX-License-Identifier: Apache-2.0
// MSE: the range that minimises the sum of (x - DQ(Q(x)))^2 over the histogram, on the scheme's own
// grid. Every element counts as the middle of its bin, zeros as zeros. The search walks fractions
// of the extremes, coarse then fine, one side after the other.
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/observers/channel.h"
#include "quant/observers/histogram.h"
#include "quant/scheme.h"

namespace octet {

namespace {

constexpr int kCoarse = 100; ///< fractions 1/100, 2/100, ... 1
constexpr int kFine = 8;     ///< and eighths of a step around the best

class MseObserver final : public ChannelObserver {
 public:
  explicit MseObserver(const Scheme& scheme) : scheme_(scheme) {}

  void observe(std::span<const float> values) override { histogram_.add(values); }
  void merge(const ChannelObserver& other) override {
    histogram_.merge(static_cast<const MseObserver&>(other).histogram_);
  }
  bool nothing() const override { return histogram_.count() == 0; }
  Range range() const override {
    const Histogram& h = histogram_;
    if (h.count() == 0 || h.max_magnitude() == 0) return {};
    const Range full{h.min(), h.max()};
    if (scheme_.symmetric || !is_integer(scheme_.type)) {
      const double m = h.max_magnitude();
      const double best = search([&](double f) { return Range{-f * m, f * m}; });
      return {std::max(full.lo, -best * m), std::min(full.hi, best * m)};
    }
    Range best = full;
    for (int round = 0; round < 2; ++round) {
      if (full.hi > 0)
        best.hi = full.hi * search([&](double f) { return Range{best.lo, f * full.hi}; });
      if (full.lo < 0)
        best.lo = full.lo * search([&](double f) { return Range{f * full.lo, best.hi}; });
    }
    return best;
  }
  size_t state_bytes() const override { return sizeof(*this) + histogram_.state_bytes(); }

 private:
  template <class MakeRange>
  double search(MakeRange make_range) const {
    double best = 1;
    double best_error = error(make_range(1));
    const auto consider = [&](double fraction) {
      const double e = error(make_range(fraction));
      if (e < best_error) {
        best = fraction;
        best_error = e;
      }
    };
    for (int i = kCoarse - 1; i >= 1; --i)
      consider(static_cast<double>(i) / kCoarse);
    const double middle = best;
    for (int i = -kFine + 1; i < kFine; ++i) {
      const double fraction = middle + static_cast<double>(i) / (kCoarse * kFine);
      if (fraction > 0 && fraction <= 1) consider(fraction);
    }
    return best;
  }

  double error(const Range& range) const {
    const QuantParameters parameters = parameters_for(scheme_, range);
    const double width = histogram_.width();
    double sum = 0;
    const auto add = [&](std::span<const uint64_t> bins, double sign) {
      for (size_t i = 0; i < bins.size(); ++i) {
        if (bins[i] == 0) continue;
        const double x = sign * (static_cast<double>(i) + 0.5) * width;
        const double d = x - round_trip(scheme_, parameters, x);
        sum += static_cast<double>(bins[i]) * d * d;
      }
    };
    add(histogram_.positive(), 1);
    add(histogram_.negative(), -1);
    return sum;
  }

  Scheme scheme_;
  Histogram histogram_;
};

} // namespace

std::unique_ptr<ChannelObserver> make_mse(const Scheme& scheme) {
  return std::make_unique<MseObserver>(scheme);
}

} // namespace octet
