// SPDX-License-Identifier: Apache-2.0
// Moving average of the batches' extremes: m = (1 - a) * m + a * extreme, starting at the first
// batch's. An average kept as one number cannot be merged exactly (the additions round in another
// order), so the extremes of the last batches are kept and averaged when asked: those older than
// the window have a weight below 2^-30.
#include <algorithm>
#include <cmath>
#include <deque>

#include "core/format.h"
#include "quant/observers/channel.h"
#include "quant/observers/state.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

size_t window_of(double momentum) {
  if (momentum >= 1) return 1;
  return static_cast<size_t>(std::ceil(30 * std::log(2.0) / -std::log1p(-momentum)));
}

class MovingAverageObserver final : public ChannelObserver {
 public:
  explicit MovingAverageObserver(double momentum)
      : momentum_(momentum), window_(window_of(momentum)) {}

  void observe(std::span<const float> /*values*/, Extremes found) override {
    batch_.lo = in_batch_ ? std::min(batch_.lo, found.lo) : found.lo;
    batch_.hi = in_batch_ ? std::max(batch_.hi, found.hi) : found.hi;
    in_batch_ = true;
  }
  void end_batch() override {
    if (in_batch_) push(batch_);
    in_batch_ = false;
  }
  void merge(const ChannelObserver& other) override {
    const auto& theirs = static_cast<const MovingAverageObserver&>(other);
    for (const Extremes& e : theirs.batches_)
      push(e);
  }
  bool nothing() const override { return batches_.empty(); }
  Range range() const override {
    if (batches_.empty()) return {};
    Range average{batches_.front().lo, batches_.front().hi};
    for (size_t i = 1; i < batches_.size(); ++i) {
      average.lo = (1 - momentum_) * average.lo + momentum_ * batches_[i].lo;
      average.hi = (1 - momentum_) * average.hi + momentum_ * batches_[i].hi;
    }
    return average;
  }
  size_t state_bytes() const override {
    return sizeof(*this) + std::max<size_t>(batches_.size(), 64) * sizeof(Extremes);
  }
  nlohmann::ordered_json state() const override {
    auto out = nlohmann::ordered_json::array();
    for (const Extremes& batch : batches_)
      out.push_back({batch.lo, batch.hi});
    return out;
  }
  Status restore(const nlohmann::json& state) override {
    if (!state.is_array() || state.empty() || state.size() > window_)
      return error("no list of the extremes of 1 to {} batches", window_);
    batches_.clear();
    for (const nlohmann::json& batch : state)
      push(OCTET_TRY(read_extremes(batch)));
    return ok_status();
  }

 private:
  void push(const Extremes& extremes) {
    batches_.push_back(extremes);
    if (batches_.size() > window_) batches_.pop_front();
  }

  double momentum_;
  size_t window_;
  std::deque<Extremes> batches_;
  Extremes batch_{};
  bool in_batch_ = false;
};

} // namespace

std::unique_ptr<ChannelObserver> make_moving_average(const MovingAverage& parameters) {
  return std::make_unique<MovingAverageObserver>(parameters.momentum);
}

} // namespace octet
