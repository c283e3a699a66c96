// SPDX-License-Identifier: Apache-2.0
// In which order the products of one sum are added: neighbours are neighbours along the sum, of a
// convolution with the channels of one tap together, as ONNX Runtime packs them.
#pragma once

#include <string>

#include "octet/graph.h"

namespace octet {

/// A weight as a matrix [channels, terms].
struct SumOrder {
  bool convolution = false, rows = false; ///< rows: [channels, terms], else [terms, channels]
  int64_t channels = 0, terms = 0, groups = 1;
  int64_t depth = 1; ///< input channels of a convolution's group
};

/// Where element (channel, term) of the matrix stands in the weight tensor.
int64_t weight_index(const SumOrder& order, int64_t channel, int64_t term);

/// Takes channels and terms from the shape of the weights: of Conv and of ConvInteger, QLinearConv
/// 3 to 5 axes, of LSTM, GRU and RNN W [D, gates, inputs], of matrices 2. `convolution` is given, and
/// so is `rows` where no attribute says it. Returns why it can't; empty: it could.
std::string read_order(const Node& node, const Shape& weights, SumOrder& order);

} // namespace octet
