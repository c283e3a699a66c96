// SPDX-License-Identifier: Apache-2.0
// ChannelObserver: what an Observer keeps for its tensor, or for one channel of it.
#pragma once

#include <memory>
#include <span>

#include "quant/observers/histogram.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/observer.h"

namespace octet {

class ChannelObserver {
 public:
  virtual ~ChannelObserver() = default;
  /// Takes finite values of the current batch, at least one, in any order.
  virtual void observe(std::span<const float> values, Extremes extremes) = 0;
  /// The batch is over (for observers that weigh batches).
  virtual void end_batch() {}
  /// `other` is of the same kind and has the same parameters.
  virtual void merge(const ChannelObserver& other) = 0;
  /// True when no value was observed.
  virtual bool nothing() const = 0;
  /// The range; {0, 0} when nothing was observed.
  virtual Range range() const = 0;
  /// What it counted, or null where it keeps less.
  virtual const Histogram* histogram() const { return nullptr; }
  virtual size_t state_bytes() const = 0;
  /// What it keeps, with every bit of its numbers; something was observed.
  virtual nlohmann::ordered_json state() const = 0;
  /// Becomes what gave the state. Errors: what no observer keeps.
  virtual Status restore(const nlohmann::json& state) = 0;
};

std::unique_ptr<ChannelObserver> make_channel_observer(const Calibrator& calibrator,
                                                       const Scheme& scheme);
std::unique_ptr<ChannelObserver> make_min_max();
std::unique_ptr<ChannelObserver> make_moving_average(const MovingAverage& parameters);
/// Of the calibrators that need no more than a histogram.
std::unique_ptr<ChannelObserver> make_histogram_observer(const Calibrator& calibrator,
                                                         const Scheme& scheme);

} // namespace octet
