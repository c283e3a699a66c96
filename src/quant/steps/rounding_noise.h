// SPDX-License-Identifier: Apache-2.0
// What rounding a product's input and weights does to its output, by the usual model of rounding as
// independent noise of variance step^2 / 12.
#pragma once

#include <span>
#include <vector>

#include "quant/place.h"
#include "quant/steps/channel_constants.h"

namespace octet {

/// A product whose weights are multiplied by in[c] along its input's channels and divided by out[n]
/// along its output's; its input is divided by in[c].
struct ScaledProduct {
  /// Weights along the input's channels; no axis has them in the weights of a Conv with groups:
  /// then all channels count as one, on `kNoAxis`.
  ChannelConstant weights;
  static constexpr int64_t kNoAxis = -1;
  std::span<const double> squares; ///< mean of x^2 of each input channel
  std::span<const double> in, out; ///< empty: 1 everywhere
  double input_step = 0;           ///< of the codes of the input divided by `in`
};

/// The largest |x| / in[c] over all channels, as the step of codes from -it to it.
double input_step(std::span<const float> largest, std::span<const double> in, int bits);

/// Variance of the noise of each output channel, in the unit that it has with in = out = 1.
std::vector<double>
rounding_noise(const Graph& graph, const ScaledProduct& product, const NodeFormat& format);

} // namespace octet
