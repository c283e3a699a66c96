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
/// `scale`.
struct Fp8Cast {
  at::Tensor values;
  float scale = 1;
};

/// The state of all tensors that a program casts.
class Fp8Scales {
 public:
  explicit Fp8Scales(const Fp8Options& options) : options_(options) {}

  /// A place for one tensor.
  size_t add(Fp8Format format);
  size_t count() const { return formats_.size(); }
  /// x: f32. With delayed scaling `record` puts its amax into the history.
  Fp8Cast cast(size_t place, const at::Tensor& x, bool record);

  /// The amax of each tensor in the running step, for processes to agree on.
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
  std::span<float> history(size_t place);
  /// The factor for an amax, or `old`.
  float factor(size_t place, float amax, float old) const;

  Fp8Options options_;
  std::vector<Fp8Format> formats_;
  std::vector<float> scales_;
  std::vector<float> history_; ///< for each place the running step, then others, the oldest first
};

} // namespace octet::train
