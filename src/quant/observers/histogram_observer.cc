// SPDX-License-Identifier: Apache-2.0
// The observers that take a range from a histogram: one of them takes all of these ranges.
#include <algorithm>

#include "quant/observers/channel.h"
#include "quant/observers/histogram_ranges.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

class HistogramObserver final : public ChannelObserver {
 public:
  HistogramObserver(const Calibrator& calibrator, const Scheme& scheme)
      : calibrator_(calibrator), scheme_(scheme) {}

  void observe(std::span<const float> values, Extremes extremes) override {
    histogram_.add(values, extremes);
  }
  void merge(const ChannelObserver& other) override {
    histogram_.merge(static_cast<const HistogramObserver&>(other).histogram_);
  }
  bool nothing() const override { return histogram_.count() == 0; }
  Range range() const override { return histogram_range(histogram_, calibrator_, scheme_); }
  const Histogram* histogram() const override { return &histogram_; }
  size_t state_bytes() const override { return sizeof(*this) + histogram_.state_bytes(); }
  nlohmann::ordered_json state() const override { return histogram_.state(); }
  Status restore(const nlohmann::json& state) override { return histogram_.restore(state); }

 private:
  Calibrator calibrator_;
  Scheme scheme_;
  Histogram histogram_;
};

} // namespace

std::unique_ptr<ChannelObserver> make_histogram_observer(const Calibrator& calibrator,
                                                         const Scheme& scheme) {
  return std::make_unique<HistogramObserver>(calibrator, scheme);
}

bool has_entropy_levels(const Scheme& scheme) {
  return scheme.type == DType::kInt8 || scheme.type == DType::kUint8;
}

Range clipped_range(const Histogram& h, double edge) {
  return {std::clamp(h.min(), -edge, edge), std::clamp(h.max(), -edge, edge)};
}

Range histogram_range(const Histogram& h, const Calibrator& calibrator, const Scheme& scheme) {
  if (h.count() == 0 || h.max_magnitude() == 0) return {};
  if (const auto* percentile = std::get_if<Percentile>(&calibrator))
    return percentile_range(h, percentile->p, scheme);
  if (std::holds_alternative<Entropy>(calibrator) && has_entropy_levels(scheme))
    return entropy_range(h);
  if (const auto* mse = std::get_if<Mse>(&calibrator)) return mse_range(h, scheme, mse->clipped);
  return {h.min(), h.max()};
}

} // namespace octet
