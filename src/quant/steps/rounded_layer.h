// SPDX-License-Identifier: Apache-2.0
// A layer whose weights a plan rounds, as algorithms that choose their codes or scales see it.
#pragma once

#include <optional>
#include <vector>

#include "quant/gram/layer_rows.h"
#include "quant/gram/rounding.h"
#include "quant/steps/step.h"

namespace octet {

/// The output channels of a weight, and whether an output's weights lie behind each other.
struct WeightForm {
  int64_t outputs = 0, columns = 0;
  int64_t axis = 0; ///< of the outputs
  int64_t groups = 1;
  int64_t window = 1; ///< places of a kernel
  int64_t block = 0;  ///< input channels that share a scale; 0: all of an output do

  int64_t element(int64_t output, int64_t column) const {
    return axis == 0 ? output * columns + column : column * outputs + output;
  }
  /// The axis that blocks lie along.
  int64_t block_axis() const { return 1 - axis; }
  /// Scales of an output.
  int64_t parts() const {
    if (block == 0) return 1;
    const int64_t channels = columns / window;
    return (channels + block - 1) / block * window;
  }
  int64_t part(int64_t column) const {
    return block == 0 ? 0 : column / window / block * window + column % window;
  }
  /// In a plan's order of scales.
  int64_t scale(int64_t output, int64_t part) const {
    return axis == 0 ? output * parts() + part : part * outputs + output;
  }
};
Result<WeightForm> weight_form(const Graph& graph, const Node& node, size_t input);

/// What the bytes of codes are: of whole numbers (null) the numbers themselves.
const FloatFormat* grid_format(DType type);

struct RoundedLayer {
  NodeId node;
  WeightForm form;
  LayerRows rows;
  std::vector<float> scales; ///< one, or those of the outputs in the plan's order
  DType type;                ///< of the codes
  CodeGrid grid;

  /// Of one group; `weights` in their own order.
  RoundingProblem problem(std::span<const double> weights, int64_t group) const;
  /// A plan's numbers for the weight of the node: `codes`, numbers of the grid in the weight's order.
  RoundedWeight with_codes(const std::string& node_name, std::span<const double> codes) const;
};

/// The quantized Conv, Gemm and MatMul of a plan with weights of at most 8 bits that nobody else
/// reads, in the plan's order: those that steps are fitted for. Scales are
/// those that the plan's steps have chosen.
Result<std::vector<RoundedLayer>> rounded_layers(const Fitting& fitting);

} // namespace octet
