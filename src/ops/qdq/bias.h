// SPDX-License-Identifier: Apache-2.0
// Biases behind DequantizeLinear as what products of codes add to their int32 sums: the one place
// that reads the scale and the zero point of such a bias.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet::qdq {

/// What one step of a sum of codes is worth: factor · s_x · s_w, one or one for each column.
std::vector<double> sum_steps(double x_scale, std::span<const double> w_scales, double factor = 1);

/// A bias of int32 codes behind DQ counted in steps of the sum that it is added to.
struct BiasInSteps {
  Tensor stored;              ///< the codes as they stand before DQ
  Shape shape;                ///< theirs, with a last axis of 1 as long as there are steps
  std::vector<double> counts; ///< (code - zero point) · scale / step, an element each

  /// The counts as int32 codes; nullopt where one is no whole number, or leaves int32.
  std::optional<Tensor> codes() const;
  /// Whether a runtime that adds the stored codes as they are adds the same, to the nearest step.
  bool are_stored() const;
};
/// The last axis of the bias runs along `steps`. Nullopt: the value is no constant int32 behind DQ,
/// its scales or `steps` do not fit its shape, or a step is 0 or no number.
std::optional<BiasInSteps>
bias_in_steps(const Graph& graph, ValueId bias, const std::vector<double>& steps);

/// The largest code that a float bias is rounded to: in the lower half of int32's range the sum has
/// room beside it.
inline constexpr int32_t kLargestBiasCode = std::numeric_limits<int32_t>::max() / 2;
/// The least scale of weights whose products with codes of x have room for a bias of so much, also
/// where it is halved afterwards; 0: no scale does that.
double least_weight_scale(double bias, double x_scale);
/// A float bias rounded to steps of the sum.
struct RoundedBias {
  std::vector<int32_t> codes;
  std::vector<float> scales; ///< the steps: one, or one for each code

  float scale(size_t i) const { return scales[scales.size() == 1 ? 0 : i]; }
};
/// factor · bias in steps of x_scale · w_scale. Nullopt: the bias is no f32 vector of as many
/// elements as there are scales (or there is one scale), a step is not normal, or a code is beyond
/// kLargestBiasCode.
std::optional<RoundedBias>
round_to_steps(const Tensor& bias, double factor, float x_scale, std::span<const double> w_scales);

} // namespace octet::qdq
