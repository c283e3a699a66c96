// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear followed by DequantizeLinear as one differentiable function. Forward is, bit for
// bit, docs/numerics.md's two operators: y = (saturate(rne(x / s) + z) - z) * s. Backward is the
// straight-through estimator: the gradient of y where the code is in range and 0 where it
// saturates (arXiv 1712.05877); for a learned scale the gradient of LSQ (arXiv 1902.08153):
// rne(x/s) - x/s inside, the bound that was hit outside, times 1 / sqrt(N * Qp), N being the number
// of elements that share the scale: of a weight, or of one example of an activation.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "octet/dtype.h"

namespace octet::train {

struct FakeQuant {
  int64_t axis = -1; ///< of the channels that the scale runs over; -1: one scale for the tensor
  /// Smallest and largest code less the zero point, one for each scale. For FP8: -max and max.
  std::vector<float> low, high;
  DType type = DType::kInt8;
  bool is_weight = false; ///< its first axis is no batch
  bool clips = false;     ///< the scale's gradient is that of PACT's clip, else LSQ's

  /// Keeps the bounds in `device`'s memory too, so that no run copies them there.
  void place(c10::Device device);
  at::Tensor placed_low, placed_high; ///< undefined: not placed
};

/// True when `fake_quantize` can stand for a Q/DQ pair of this code type.
bool can_fake_quantize(DType type);
/// The range of codes of an integer type.
std::pair<double, double> code_range(DType type);

/// x: a float tensor; scale: one element, or one for each channel, of x's type.
at::Tensor fake_quantize(const at::Tensor& x, const at::Tensor& scale, const FakeQuant& spec);

/// LSQ's first scale, 2 mean|x| / sqrt(Q) of each channel, with Q its largest code; that of `like`
/// where the mean is 0 or not finite.
at::Tensor published_scale(const at::Tensor& x, const at::Tensor& like, const FakeQuant& spec);

/// The scale that the extremes of each channel ask for on a symmetric grid, as parameters_for of a
/// plan takes it: max(max / high, min / low), in 8 bits and more |x| / high; a channel of zeros takes
/// the smallest scale of the others, or 1.
at::Tensor largest_scale(const at::Tensor& x, const at::Tensor& like, const FakeQuant& spec);

} // namespace octet::train
