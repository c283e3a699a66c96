// SPDX-License-Identifier: Apache-2.0
// LSTM with weights in codes whose input and states are quantized at every run: com.microsoft's
// DynamicQuantizeLSTM.
#pragma once

#include <vector>

#include "graph/live_uses.h"
#include "quant/apply.h"
#include "quant/place.h"
#include "quant/qdq_writer.h"

namespace octet {

/// Whether a node of a plan becomes one.
bool is_dynamic_lstm(const NodePlan& plan);

/// The inputs of a node whose weights its plan stores in codes: W and R of a dynamic LSTM, else one
/// or none.
std::vector<size_t> weight_inputs(const NodePlan& plan);

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
