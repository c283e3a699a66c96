// SPDX-License-Identifier: Apache-2.0
// Biases of products of codes, in steps of the sums that they are added to: a file holds them so
// (quant/bias.cc), and training computes with what the file will hold.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "octet/graph.h"

namespace octet::train {

/// A float bias beside two inputs that come from codes.
struct SumBias {
  ValueId bias;
  ValueId x_real, w_real; ///< what DequantizeLinear makes of the codes
  double factor = 1;      ///< of the bias: beta
};
/// Nullopt where the file would leave the bias of `product` as it is.
std::optional<SumBias> find_sum_bias(const Graph& graph, const Node& product);

/// The bias rounded to multiples of x_scale · w_scale / factor, as qdq::round_to_steps has it: where
/// that rounds none, the bias itself. Its gradient passes straight through.
at::Tensor round_to_sum(const at::Tensor& bias,
                        const at::Tensor& x_scale,
                        const at::Tensor& w_scale,
                        double factor);

} // namespace octet::train
