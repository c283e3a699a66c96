// SPDX-License-Identifier: Apache-2.0
// The layers of a plan, and plans in which one of them is quantized alone or left in float.
#pragma once

#include <string>
#include <vector>

#include "octet/graph.h"
#include "octet/quantize.h"

namespace octet {

/// What is quantized for one node: its weight, what it makes (behind its clamp and the nodes that
/// only move it, too) and what it reads that nobody else quantizes. Each tensor in codes belongs to
/// one layer, or to each reader where the readers quantize it.
struct QuantizedLayer {
  std::string node;                     ///< of the plan: the first of those below
  std::vector<size_t> nodes;            ///< in plan.nodes
  std::vector<std::string> activations; ///< tensors of the plan that it quantizes
  std::vector<std::string> weights;
};

/// In the order of the plan. `prepared` has the plan's nodes.
std::vector<QuantizedLayer> layers_of(const Graph& prepared, const QuantizationPlan& plan);

/// The plan with this layer quantized and nothing else.
QuantizationPlan
with_layer_alone(const Graph& prepared, const QuantizationPlan& plan, const QuantizedLayer& layer);
/// The plan with this layer in float; codes that nobody reads any more go too.
QuantizationPlan with_layer_in_float(const Graph& prepared,
                                     const QuantizationPlan& plan,
                                     const QuantizedLayer& layer);

/// Gives a tensor another range, and those that are "same as" it.
void set_range(QuantizationPlan& plan,
               const std::string& value,
               const Range& range,
               std::string_view algorithm);

} // namespace octet
