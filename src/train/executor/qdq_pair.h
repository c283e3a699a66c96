// SPDX-License-Identifier: Apache-2.0
// A QuantizeLinear whose result only DequantizeLinears with the same scale and zero point read, at
// once or through the Clip that leaves codes of fewer bits.
#pragma once

#include <optional>
#include <vector>

#include "train/fake_quant.h"

#include "octet/graph.h"

namespace octet::train {

struct QdqPair {
  NodeId clamp; ///< between the two sides; its bounds are in `spec`. Invalid: none
  std::vector<NodeId> dequantizers;
  ValueId scale;                     ///< of the quantizer, a constant
  std::vector<ValueId> scale_copies; ///< other constants with the same scale, at the dequantizers
  FakeQuant spec;
  bool symmetric = false; ///< a signed type and all zero points 0
  bool shared = false;    ///< something else uses the scale too
};

/// The pair that starts at `quantize`, when it can be one fake-quant function.
std::optional<QdqPair> match_qdq_pair(const Graph& graph, const Uses& uses, const Node& quantize);

} // namespace octet::train
