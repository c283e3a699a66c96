// SPDX-License-Identifier: Apache-2.0
// Entropy: the magnitude at which 128 levels lose the least information about the histogram.
// Source: Migacz, "8-bit inference with TensorRT" (GTC 2017), in the form of NVIDIA's open
// calibrator: bin 0 takes the count of bin 1; for i from 128 to all bins, the reference is the
// first i bins with the tail's mass in the last, the candidate those i bins merged into 128 levels
// whose mass is spread over the bins that are not empty; the last of the smallest divergences wins.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "quant/observers/channel.h"
#include "quant/observers/histogram.h"

namespace octet {

namespace {

constexpr size_t kLevels = 128;

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

class EntropyObserver final : public ChannelObserver {
 public:
  void observe(std::span<const float> values) override { histogram_.add(values); }
  void merge(const ChannelObserver& other) override {
    histogram_.merge(static_cast<const EntropyObserver&>(other).histogram_);
  }
  bool nothing() const override { return histogram_.count() == 0; }
  Range range() const override {
    const Histogram& h = histogram_;
    if (h.count() == 0 || h.max_magnitude() == 0) return {};
    const std::vector<uint64_t> counts = h.magnitudes();
    std::vector<double> bins(counts.begin(), counts.end());
    bins[0] = bins[1];
    double tail = 0;
    for (size_t i = kLevels; i < bins.size(); ++i)
      tail += bins[i];
    double best = std::numeric_limits<double>::infinity();
    size_t best_bins = bins.size();
    for (size_t n = kLevels; n <= bins.size(); ++n) {
      const double d = divergence(bins, n, tail);
      if (d <= best) {
        best = d;
        best_bins = n;
      }
      if (n < bins.size()) tail -= bins[n];
    }
    const double edge = std::min(static_cast<double>(best_bins) * h.width(), h.max_magnitude());
    return {std::max(h.min(), -edge), std::min(h.max(), edge)};
  }
  size_t state_bytes() const override { return sizeof(*this) + histogram_.state_bytes(); }

 private:
  Histogram histogram_;
};

} // namespace

std::unique_ptr<ChannelObserver> make_entropy() {
  return std::make_unique<EntropyObserver>();
}

} // namespace octet
