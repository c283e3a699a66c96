// SPDX-License-Identifier: Apache-2.0
// SGD with momentum, Adam (arXiv 1412.6980) and AdamW (arXiv 1711.05101) on LibTorch's fused
// kernels. All state is in plain tensors, so that a checkpoint can hold it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/trainer/schedule.h"
#include <ATen/core/Tensor.h>

namespace octet::train {

class Optimizer {
 public:
  /// `leaves` are changed in place; `decay` is the weight decay of each.
  Optimizer(const OptimizerOptions& options,
            std::vector<at::Tensor> leaves,
            std::vector<double> decay);

  /// One step from the gradients that the leaves hold (a leaf without one stays as it is); the
  /// gradients are let go of. `overflowed`, where it is defined, is 1 on the device when nothing
  /// may change, else 0.
  void step(const Rates& rates, const at::Tensor& overflowed = {});
  /// Scales the gradients to a 2-norm of `options.clip_norm` when that is exceeded.
  void clip();
  /// Multiplies the gradients by `factor`, one f32 number on the device; returns 1 when one of
  /// them is not finite, else 0, f32 on the device.
  at::Tensor unscale(const at::Tensor& factor);

  /// The state by name, for reading and for writing into.
  std::vector<std::pair<std::string, at::Tensor>> state() const;

 private:
  /// One step of the leaves that decay by `decay`.
  void step_group(const Rates& rates, double decay, const at::Tensor& overflowed);
  std::vector<at::Tensor> gradients() const;

  OptimizerOptions options_;
  std::vector<at::Tensor> leaves_, first_, second_, steps_;
  std::vector<double> decay_;
};

} // namespace octet::train
