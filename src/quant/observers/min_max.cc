// SPDX-License-Identifier: Apache-2.0
// Min-max: the smallest and the largest value seen.
#include <algorithm>

#include "quant/observers/channel.h"
#include "quant/observers/state.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

class MinMaxObserver final : public ChannelObserver {
 public:
  void observe(std::span<const float> /*values*/, Extremes found) override {
    range_.lo = nothing_ ? found.lo : std::min(range_.lo, static_cast<double>(found.lo));
    range_.hi = nothing_ ? found.hi : std::max(range_.hi, static_cast<double>(found.hi));
    nothing_ = false;
  }
  void merge(const ChannelObserver& other) override {
    const auto& theirs = static_cast<const MinMaxObserver&>(other);
    if (theirs.nothing_) return;
    range_.lo = nothing_ ? theirs.range_.lo : std::min(range_.lo, theirs.range_.lo);
    range_.hi = nothing_ ? theirs.range_.hi : std::max(range_.hi, theirs.range_.hi);
    nothing_ = false;
  }
  bool nothing() const override { return nothing_; }
  Range range() const override { return range_; }
  size_t state_bytes() const override { return sizeof(*this); }
  nlohmann::ordered_json state() const override { return {range_.lo, range_.hi}; }
  Status restore(const nlohmann::json& state) override {
    const Extremes found = OCTET_TRY(read_extremes(state));
    range_ = {found.lo, found.hi};
    nothing_ = false;
    return ok_status();
  }

 private:
  Range range_;
  bool nothing_ = true;
};

} // namespace

std::unique_ptr<ChannelObserver> make_min_max() {
  return std::make_unique<MinMaxObserver>();
}

} // namespace octet
