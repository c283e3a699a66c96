// SPDX-License-Identifier: Apache-2.0
// The factors by which tensors are multiplied before they are cast to FP8, and the casts. Sources:
// arXiv 2209.05433; Transformer Engine, DelayedScaling and Float8CurrentScaling.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "octet/train.h"

namespace octet::train {

enum class Fp8Format { kE4M3FN, kE5M2 };

/// A tensor in FP8: the numbers that the codes stand for, in f32, are those of the tensor times
/// `scale`, one f32 number on the same device.
struct Fp8Cast {
  at::Tensor values, scale;
};

/// The state of all tensors that a program casts, on their device: the host reads none of it while
/// steps run.
class Fp8Scales {
 public:
  explicit Fp8Scales(const Fp8Options& options, c10::Device device = c10::kCPU);

  /// A place for one tensor.
  size_t add(Fp8Format format);
  size_t count() const { return static_cast<size_t>(largest_.numel()); }
  /// x: f32. With delayed scaling `record` puts its amax into the history.
  Fp8Cast cast(size_t place, const at::Tensor& x, bool record);

  /// The amax of each tensor in the running step, infinity where it was not finite, for processes to
  /// agree on.
  std::vector<double> recorded() const;
  void record(std::span<const double> amax);
  /// Ends a step: new factors from the history, which makes room for the next step. An amax of 0
  /// keeps the old factor; one that is not finite does too, and is forgotten, lest it keep the
  /// factor for as long as the history is.
  void advance();

  /// What a checkpoint holds, for reading and for writing into; nothing with current scaling.
  /// Valid until the next `add`.
  std::vector<std::pair<std::string, at::Tensor>> state();

 private:
  bool is_delayed() const { return options_.scaling == Fp8Scaling::kDelayed; }
  /// The factors for `amax`, one for each of `largest`, or `old`.
  at::Tensor
  factors(const at::Tensor& largest, const at::Tensor& amax, const at::Tensor& old) const;

  Fp8Options options_;
  std::vector<Fp8Format> formats_;
  at::Tensor largest_; ///< of each place's format
  at::Tensor scales_;  ///< of each place
  at::Tensor history_; ///< for each place the running step, then others, the oldest first
};

} // namespace octet::train
