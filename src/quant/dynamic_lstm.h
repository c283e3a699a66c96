// SPDX-License-Identifier: Apache-2.0
// LSTM with weights in codes whose input and states are quantized at every run: com.microsoft's
// DynamicQuantizeLSTM.
#pragma once

#include <array>

#include "graph/live_uses.h"
#include "quant/apply.h"
#include "quant/place.h"
#include "quant/qdq_writer.h"

namespace octet {

/// The inputs of an LSTM that hold its weights, W and R. Their axis of channels is 1.
inline constexpr std::array<size_t, 2> kLstmWeights = {1, 2};

/// Whether a node of a plan becomes one.
bool is_dynamic_lstm(const NodePlan& plan);

/// Completes the entry of an LSTM: dynamic, or float with the reason.
NodePlan place_dynamic_lstm(const Graph& graph,
                            const Placement& placement,
                            const QuantizeOptions& options,
                            const Node& node,
                            NodePlan plan);

/// Puts one in the place of an LSTM. Errors: a weight without a plan, or whose scheme is not
/// symmetric int8 without blocks.
Status write_dynamic_lstm(
    Graph& graph, LiveUses& uses, MadeTensors& made, const PlanIndex& index, NodeId id);

} // namespace octet
