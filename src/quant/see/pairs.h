// SPDX-License-Identifier: Apache-2.0
// Which values of a float network and of a quantized file of it are the same, but for rounding.
// Nodes are matched by their names, then by the names of what they make, then by what they read;
// Q, DQ and a Clip of codes are looked through.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/qdq/grid.h"

#include "octet/graph.h"

namespace octet {

/// A float value and what stands for it in the other graph.
struct ValuePair {
  std::string value; ///< its name in the float graph
  std::string node;  ///< of the float graph that makes it; empty: an input
  ValueId in_float;
  ValueId in_quantized;          ///< codes where there is a grid, else a float value
  std::optional<qdq::Grid> grid; ///< of the codes
  CodeRange codes = {0, 0};      ///< that occur: fewer than the type's with a Clip behind Q
  std::optional<size_t> output;  ///< of both graphs
};

/// A constant of the float graph and the codes that stand for it.
struct WeightPair {
  std::string value;
  std::string node; ///< of the float graph, the first that reads it
  ValueId in_float;
  ValueId in_quantized; ///< what DQ makes of the codes
  qdq::Grid grid;
  CodeRange codes = {0, 0}; ///< of as few bits as hold them
};

/// One node of the float graph and its counterpart, with what the latter reads and makes in codes.
struct NodePair {
  NodeId in_float, in_quantized;
  std::vector<size_t> inputs;   ///< activations that it reads through codes
  std::optional<size_t> weight; ///< that is stored in 8 bits
  bool output = false;          ///< every reader of its output 0 reads it through codes
  bool int32_bias = false;
};

struct ModelPairs {
  std::vector<ValuePair> values; ///< in the order of the quantized graph
  std::vector<WeightPair> weights;
  std::vector<NodePair> nodes; ///< in the order of the float graph
  /// Quantized values, and outputs, without a counterpart in the float graph.
  std::vector<std::string> unmatched;
};

/// `prepared`: a float graph as plans speak of it (quant/prepare.h); `quantized`: one with Q/DQ.
/// Errors: other inputs or outputs; fewer than half of the values in codes have a counterpart.
Result<ModelPairs> pair_models(const Graph& prepared, const Graph& quantized);

} // namespace octet
