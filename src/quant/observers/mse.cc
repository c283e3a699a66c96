// SPDX-License-Identifier: Apache-2.0
// MSE: the range that minimises the sum of (x - DQ(Q(x)))^2 over the histogram, on the scheme's own
// grid. Every element counts as the middle of its bin, zeros as zeros. The search walks fractions
// of the extremes, coarse then fine, one side after the other. What a range clips may count more: the
// errors of weights that are made smaller do not cancel as those of rounding do (AIMET's tf_enhanced
// weighs them by its GAMMA).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/codec.h"
#include "quant/observers/histogram_ranges.h"
#include "quant/scheme.h"

namespace octet {

namespace {

constexpr int kCoarse = 100; ///< fractions 1/100, 2/100, ... 1
constexpr int kFine = 8;     ///< and eighths of a step around the best

/// The bins that hold something, as numbers: the largest magnitudes first, whose error tells soonest
/// that a range is too small.
class Counted {
 public:
  Counted(const Histogram& histogram, const Scheme& scheme, double clipped)
      : scheme_(scheme), clipped_(clipped) {
    for (size_t i = Histogram::kBins; i-- > 0;) {
      const double x = (static_cast<double>(i) + 0.5) * histogram.width();
      for (const auto& [bins, sign] :
           {std::pair(histogram.positive(), 1), std::pair(histogram.negative(), -1)})
        if (!bins.empty() && bins[i] > 0)
          numbers_.push_back({sign * x, static_cast<double>(bins[i])});
    }
  }

  /// The sum of squared errors, or at least `enough`.
  double error(const Range& range, double enough) const {
    const QuantParameters parameters = parameters_for(scheme_, range);
    const Codes c = codes(scheme_);
    const auto scale = static_cast<double>(parameters.scale);
    constexpr double kRounder = 0x1.8p52; // adding and taking it away rounds half to even
    if (const FloatFormat* format = float_format(scheme_.type)) {
      const double least = min_normal(*format);
      const auto number = [&](double x) { // round_trip, taken apart
        const double value = std::fabs(x / scale);
        const double step =
            std::ldexp(1.0, std::ilogb(std::max(value, least)) - format->mantissa_bits);
        const double rounded = ((value / step + kRounder) - kRounder) * step;
        return std::copysign(std::min(rounded, c.highest) * scale, x);
      };
      return weighed(enough, number, [&](double x) { return std::fabs(x) > c.highest * scale; });
    }
    const double zero = parameters.zero_point;
    const auto code_of = [=](double x) { return ((x / scale + kRounder) - kRounder) + zero; };
    return weighed(
        enough,
        [&](double x) { // the same
          return (std::clamp(code_of(x), c.lowest, c.highest) - zero) * scale;
        },
        [&](double x) { return code_of(x) < c.lowest || code_of(x) > c.highest; });
  }

 private:
  struct Number {
    double x, count;
  };

  template <class RoundTrip, class IsClipped>
  double weighed(double enough, RoundTrip round_trip, IsClipped is_clipped) const {
    const double all = sum(enough, round_trip);
    if (clipped_ == 1 || all >= enough) return all;
    double more = 0;
    for (const auto [x, count] : numbers_) {
      const double d = x - round_trip(x);
      if (is_clipped(x)) more += count * d * d;
    }
    return all + (clipped_ - 1) * more;
  }

  template <class RoundTrip>
  double sum(double enough, RoundTrip round_trip) const {
    constexpr size_t kAtOnce = 64;
    double sum = 0;
    for (size_t begin = 0; begin < numbers_.size() && sum < enough; begin += kAtOnce)
      for (size_t i = begin; i < std::min(begin + kAtOnce, numbers_.size()); ++i) {
        const auto [x, count] = numbers_[i];
        const double d = x - round_trip(x);
        sum += count * d * d;
      }
    return sum;
  }

  const Scheme& scheme_;
  double clipped_;
  std::vector<Number> numbers_;
};

template <class MakeRange>
double search(const Counted& counted, MakeRange make_range) {
  double best = 1;
  double best_error = counted.error(make_range(1), std::numeric_limits<double>::infinity());
  const auto consider = [&](double fraction) {
    const double e = counted.error(make_range(fraction), best_error);
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

} // namespace

Range mse_range(const Histogram& h, const Scheme& scheme, double clipped) {
  const Range full{h.min(), h.max()};
  const Counted counted(h, scheme, clipped);
  if (scheme.symmetric || !is_integer(scheme.type)) {
    const double lo = std::min(full.lo, 0.0), hi = std::max(full.hi, 0.0);
    const double best = search(counted, [&](double f) { return Range{f * lo, f * hi}; });
    if (uses_lowest_code(scheme)) return {best * lo, best * hi};
    return clipped_range(h, best * h.max_magnitude());
  }
  Range best = full;
  for (int round = 0; round < 2; ++round) {
    if (full.hi > 0)
      best.hi = full.hi * search(counted, [&](double f) { return Range{best.lo, f * full.hi}; });
    if (full.lo < 0)
      best.lo = full.lo * search(counted, [&](double f) { return Range{f * full.lo, best.hi}; });
  }
  // Of numbers on one side of 0 the other end is the nearest of them, which may be clipped too.
  return full.lo > 0 ? Range{std::min(best.lo, best.hi), best.hi}
                     : Range{best.lo, std::max(best.lo, best.hi)};
}

} // namespace octet
