// SPDX-License-Identifier: Apache-2.0
// Mixed precision: what autocast changes while a graph runs, and the scale of the loss in f16.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "octet/train.h"

namespace octet::train {

/// While it lives, LibTorch's products and convolutions run in the precision, and what needs range
/// (normalizations, softmax, losses) in f32. kFloat32 changes nothing, nor does kFloat8, which the program knows.
class AutocastScope {
 public:
  AutocastScope(c10::Device device, Precision precision);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType type_;
  bool active_;
};

/// The factor on the loss (Micikevicius et al., arXiv 1710.03740): halved when a gradient is not
/// finite, and that step is left out; doubled after 2000 steps without one.
class LossScale {
 public:
  explicit LossScale(Precision precision)
      : active_(precision == Precision::kFloat16), factor_(active_ ? 65536 : 1) {}
  bool active() const { return active_; }
  double factor() const { return factor_; }
  int64_t steps_since_change() const { return steps_; }
  void set(double factor, int64_t steps) {
    factor_ = factor;
    steps_ = steps;
  }
  void update(bool finite) {
    if (!active_) return;
    steps_ = finite ? steps_ + 1 : 0;
    if (!finite) factor_ = factor_ > 1 ? factor_ / 2 : 1;
    if (steps_ < kGrowthSteps) return;
    factor_ *= 2;
    steps_ = 0;
  }

 private:
  static constexpr int64_t kGrowthSteps = 2000;
  bool active_;
  double factor_;
  int64_t steps_ = 0;
};

} // namespace octet::train
