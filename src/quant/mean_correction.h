// SPDX-License-Identifier: Apache-2.0
// Bias correction by means: what rounding the weights of a product does to the mean of its outputs
// is linear in the means of what it reads. Source: Nagel et al. 2019 (Data-Free Quantization),
// section 4.2, with observed means in the place of those of batch normalization.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "octet/graph.h"
#include "octet/quantize.h"

namespace octet {

/// Whether a node is a product of codes and stored weights, whose input 0 is read in codes.
bool corrects_bias(const NodePlan& plan);

/// The axis of input 0, as ChannelMeans has it, over which a Conv, Gemm or MatMul of one constant
/// matrix sums; nullopt where it sums over another one, has several matrices, or scales its sums.
std::optional<int64_t> summed_axis(const Graph& graph, const Node& product);

/// For each channel of the outputs: Σ (weight - code's weight) · mean, of a Conv over the taps too, each as often as
/// it lies inside the image, where the graph fixes its size. Zeros for weights in blocks or
/// with scales in codes. Errors: another number of means than channels that are read.
Result<std::vector<float>> mean_error(const Graph& graph,
                                      const Node& product,
                                      const Tensor& codes,
                                      const TensorPlan& weight,
                                      std::span<const float> means);

} // namespace octet
