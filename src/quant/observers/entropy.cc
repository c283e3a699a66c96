// SPDX-License-Identifier: Apache-2.0
// Entropy: the magnitude at which 128 levels lose the least information about the histogram.
// Source: Migacz, "8-bit inference with TensorRT" (GTC 2017), in the form of NVIDIA's open
// calibrator: bin 0 takes the count of bin 1; for i from 128 to all bins, the reference is the
// first i bins with the tail's mass in the last, the candidate those i bins merged into 128 levels
// whose mass is spread over the bins that are not empty; the last of the smallest divergences wins.
//
// One thing is more than published: what bin 0 is spared, other numbers that repeat are spared too.
// A flat background, and what each channel makes of it, is one number for a large part of all
// elements, and one number again once it is rounded. The published candidate spreads it over all
// bins of its level and so charges most for the levels that are kept well, and where the range ends
// at such a bin the tail hides in it: the range of an image ends at its background. So a bin that
// stands alone above its neighbours counts as much as they do while it is inside the range, and in
// full once it is clipped.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "quant/observers/histogram_ranges.h"

namespace octet {

namespace {

constexpr size_t kLevels = 128;

/// A bin is one number that repeats where it holds more than twice what the nearest bins with
/// something on either side do, a thousandth of all and more than chance.
constexpr double kAlone = 2, kShareAlone = 1.0 / 1024, kLeastAlone = 64;

/// What bins count inside a range: numbers that repeat as their neighbours, zeros as bin 1.
std::vector<double> counted_inside(std::span<const double> bins) {
  std::vector<double> out(bins.begin(), bins.end());
  double all = 0;
  for (const double count : bins)
    all += count;
  const double least = std::max(kShareAlone * all, kLeastAlone);
  double before = 0; // of the bin before that holds something; bin 1 is beside zero and has none
  for (size_t i = 1; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    size_t next = i + 1;
    while (next < bins.size() && bins[next] == 0)
      ++next;
    const double beside = std::max(before, next < bins.size() ? bins[next] : 0.0);
    if (before > 0 && bins[i] > least && bins[i] > kAlone * beside) out[i] = beside;
    before = bins[i];
  }
  if (out.size() > 1) out[0] = out[1];
  return out;
}

/// KL(reference || candidate), both normalized, for the first `n` bins; infinite when the candidate
/// has no mass where the reference has some.
double divergence(std::span<const double> bins, size_t n, double tail) {
  double reference_sum = 0;
  for (size_t i = 0; i < n; ++i)
    reference_sum += bins[i];
  const double candidate_sum = reference_sum; // spreading moves mass, it loses none
  reference_sum += tail;
  if (candidate_sum == 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  size_t begin = 0;
  for (size_t level = 0; level < kLevels; ++level) {
    size_t end = begin;
    double mass = 0;
    double used = 0;
    for (; end < n && end * kLevels / n == level; ++end) {
      mass += bins[end];
      used += bins[end] > 0 ? 1 : 0;
    }
    for (size_t i = begin; i < end; ++i) {
      const double p = bins[i] + (i + 1 == n ? tail : 0);
      if (p == 0) continue;
      if (bins[i] == 0) return std::numeric_limits<double>::infinity();
      sum += p / reference_sum * std::log(p / reference_sum * candidate_sum * used / mass);
    }
    begin = end;
  }
  return sum;
}

/// The same up to rounding for any number of bins, by sums from the first bin on: a logarithm for
/// each level in place of one for each bin.
class Estimates {
 public:
  explicit Estimates(std::span<const double> bins)
      : bins_(bins), mass_(bins.size() + 1), used_(bins.size() + 1), entropy_(bins.size() + 1) {
    for (size_t i = 0; i < bins.size(); ++i) {
      mass_[i + 1] = mass_[i] + bins[i];
      used_[i + 1] = used_[i] + (bins[i] > 0 ? 1 : 0);
      entropy_[i + 1] = entropy_[i] + times_log(bins[i]);
    }
  }

  double at(size_t n, double tail) const {
    const double last = bins_[n - 1];
    if (mass_[n] == 0 || (last == 0 && tail > 0)) return std::numeric_limits<double>::infinity();
    const double reference_sum = mass_[n] + tail;
    double sum = entropy_[n] - times_log(last) + times_log(last + tail);
    size_t begin = 0;
    for (size_t level = 0; level < kLevels; ++level) {
      const size_t end = ((level + 1) * n + kLevels - 1) / kLevels;
      const double mass = mass_[end] - mass_[begin];
      const double used = used_[end] - used_[begin];
      if (mass > 0) sum += (mass + (end == n ? tail : 0)) * std::log(used / mass);
      begin = end;
    }
    return sum / reference_sum + std::log(mass_[n] / reference_sum);
  }

 private:
  static double times_log(double x) { return x > 0 ? x * std::log(x) : 0; }

  std::span<const double> bins_;
  std::vector<double> mass_, used_, entropy_; ///< of the bins before one
};

/// The number of bins to keep.
size_t best_threshold(std::span<const double> counts) {
  constexpr double kDoubt = 1e-9; // of estimates: their rounding is less
  if (counts.size() < kLevels) return counts.size();
  const std::vector<double> bins = counted_inside(counts);
  const double infinite = std::numeric_limits<double>::infinity();
  const Estimates estimates(bins);
  std::vector<double> estimate(bins.size() + 1), tails(bins.size() + 1);
  for (size_t n = bins.size(); n-- > kLevels;)
    tails[n] = tails[n + 1] + counts[n];
  for (size_t n = kLevels; n <= bins.size(); ++n)
    estimate[n] = estimates.at(n, tails[n]);
  const double least = *std::min_element(estimate.begin() + kLevels, estimate.end());
  double best = infinite;
  size_t out = bins.size();
  for (size_t n = kLevels; n <= bins.size(); ++n) {
    if (estimate[n] > least + kDoubt) continue;
    const double d = divergence(bins, n, tails[n]);
    if (d > best) continue;
    best = d;
    out = n;
  }
  return out;
}

} // namespace

Range entropy_range(const Histogram& h) {
  const std::vector<uint64_t> counts = h.magnitudes();
  const std::vector<double> bins(counts.begin(), counts.end());
  const double edge =
      std::min(static_cast<double>(best_threshold(bins)) * h.width(), h.max_magnitude());
  return clipped_range(h, edge);
}

} // namespace octet
