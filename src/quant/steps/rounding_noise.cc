// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/rounding_noise.h"

#include <algorithm>
#include <cmath>

#include "quant/channels.h"

namespace octet {

double input_step(std::span<const float> largest, std::span<const double> in, int bits) {
  double top = 0;
  for (size_t c = 0; c < largest.size(); ++c)
    top = std::max(top, static_cast<double>(largest[c]) / (in.empty() ? 1 : in[c]));
  return 2 * top / (std::exp2(bits) - 1);
}

std::vector<double>
rounding_noise(const Graph& graph, const ScaledProduct& product, const NodeFormat& format) {
  const Node& node = graph.node(product.weights.node);
  const Tensor& tensor = *graph.constant(node.input(product.weights.input));
  const std::vector<float> values = tensor.to_floats().value();
  const bool whole = product.weights.axis == ScaledProduct::kNoAxis;
  const Layout in = layout_of(tensor, whole ? std::nullopt : std::optional(product.weights.axis));
  const Layout out = layout_of(tensor, output_axis(node, product.weights.axis));
  std::vector<double> largest(static_cast<size_t>(out.channels)); ///< |w| as it is stored
  std::vector<double> power(largest.size());   ///< of the input under the weights of a channel
  std::vector<double> squares(largest.size()); ///< of the weights as they are stored
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const auto c = static_cast<size_t>(at / in.inner % in.channels);
    const auto n = static_cast<size_t>(at / out.inner % out.channels);
    const double factor = product.in.empty() ? 1 : product.in[c];
    const double w =
        static_cast<double>(values[i]) * factor / (product.out.empty() ? 1 : product.out[n]);
    largest[n] = std::max(largest[n], std::fabs(w));
    power[n] += product.squares[c] / (factor * factor);
    squares[n] += w * w;
  }
  const double levels = std::exp2(format.weight_bits - 1) - 1;
  const double top = largest.empty() ? 0 : *std::max_element(largest.begin(), largest.end());
  std::vector<double> noise(largest.size());
  for (size_t n = 0; n < noise.size(); ++n) {
    const double step = (format.per_channel ? largest[n] : top) / levels;
    const double unit = product.out.empty() ? 1 : product.out[n];
    noise[n] = unit * unit / 12 *
               (step * step * power[n] + product.input_step * product.input_step * squares[n]);
  }
  return noise;
}

} // namespace octet
