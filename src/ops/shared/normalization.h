// SPDX-License-Identifier: Apache-2.0
// What the normalizations share: moments in double, and the roles and quantization of their inputs.
#pragma once

#include "ops/shared/validate.h"

namespace octet {

struct Moments {
  double mean = 0, variance = 0; ///< of the population
};
/// Mean first, then the mean of squared deviations.
Moments moments(std::span<const double> x);

/// x = (x - mean) * factor, in place.
inline void standardize(std::span<double> x, double mean, double factor) {
  for (double& v : x)
    v = (v - mean) * factor;
}
/// x = x / sqrt(mean(x^2) + epsilon), in place; returns the factor. x is not empty.
double standardize_rms(std::span<double> x, double epsilon);
/// x[i] = x[i] * gain[i] + bias[i] with both broadcast to `shape`; an empty() bias is left out.
Status scale_and_shift(std::span<double> x,
                       std::span<const int64_t> shape,
                       const Tensor& gain,
                       const Tensor& bias);
/// Input `i` broadcasts to the shape of input 0, as far as is known.
Status check_broadcasts(const InferContext& ctx, size_t i);

/// Input 1 a gain, the rest biases.
Role normalization_roles(const Node& node, size_t input);
/// None: a normalization runs in float.
QuantTrait normalizes(const Node& node, std::span<const InputInfo> inputs);

} // namespace octet
