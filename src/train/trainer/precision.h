// SPDX-License-Identifier: Apache-2.0
// Mixed precision: what autocast changes while a graph runs, and the scale of the loss in f16.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
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
/// finite, and that step is left out; doubled after 2000 steps without one. It lives on the device
/// like the gradients that tell, so that no step waits for it.
class LossScale {
 public:
  LossScale(Precision precision, c10::Device device);
  bool active() const { return active_; }
  /// One f32 number on the device.
  const at::Tensor& factor() const { return factor_; }
  /// `overflowed`: 1 on the device where the step was left out, else 0.
  void update(const at::Tensor& overflowed);

  /// What the host may know, which waits for the device.
  struct Reading {
    double factor = 1;
    int64_t steps = 0;   ///< since it changed
    int64_t skipped = 0; ///< steps of the run that were left out
  };
  Reading read() const;
  void set(const Reading& reading);

 private:
  bool active_;
  at::Tensor factor_, steps_, skipped_;
};

} // namespace octet::train
