// SPDX-License-Identifier: Apache-2.0
// The forms that a plan can be written in. Each changes a prepared graph in place.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quant/placement.h"

#include "octet/quantize.h"

namespace octet {

/// octet::quantize for a target that is known.
Result<Graph> apply_plan(const Graph& graph,
                         const QuantizationPlan& plan,
                         const Placement& placement,
                         WeightStorage storage);
/// octet::compare_plan for a target that is known.
Result<PlanMismatch>
compare_plan_for(const Graph& graph, const QuantizationPlan& plan, const Placement& placement);
/// What follows the steps of the stage `float`: those of later stages, and the written form.
/// `graph` is prepared and behind the former.
Status apply_behind_ranges(Graph& graph,
                           const QuantizationPlan& plan,
                           const Placement& placement,
                           WeightStorage storage);
/// An error for a plan with formats that quantization-aware training does not take.
Status check_trains(const QuantizationPlan& plan);
/// octet::finalize_quantization for a target that is known.
Result<Graph>
store_trained(const Graph& trained, const QuantizationPlan& plan, const Placement& placement);

/// Static and QAT: Q/DQ around activations and weights. See apply_static.cc.
Status apply_static(Graph& graph,
                    const QuantizationPlan& plan,
                    const Placement& placement,
                    WeightStorage storage);
/// Nodes of the rule "dynamic": ONNX's integer operators, or octet's per-row product. See
/// apply_dynamic.cc.
Status apply_dynamic(Graph& graph, const QuantizationPlan& plan, const Placement& placement);
/// The other products: DQ before their weights. See apply_weights.cc.
Status apply_weights(Graph& graph, const QuantizationPlan& plan, const Placement& placement);

/// Whether tables take the plan's ranges, or (after training) those of their values now.
enum class EmbeddingRanges { kPlanned, kObserved };
/// Embeddings: int8 rows and their scales are gathered. See apply_embeddings.cc.
Status apply_embeddings(Graph& graph, const QuantizationPlan& plan, EmbeddingRanges ranges);

/// A plan and the graph that it is applied to, by names: those of the nodes as they are now, those
/// of values as they are when asked for. The plan and the graph must outlive it.
class PlanIndex {
 public:
  PlanIndex(const Graph& graph, const QuantizationPlan& plan);

  /// The node that an entry of the plan names; an error when none or several have that name.
  Result<NodeId> node(const NodePlan& plan) const;
  /// The plan of a value; an error that names the value and the node that needs it.
  Result<const TensorPlan*> tensor(ValueId value, const Node& node) const;

 private:
  struct Named {
    NodeId node;
    int count = 0;
  };
  const Graph& graph_;
  std::unordered_map<std::string, Named> nodes_;
  std::unordered_map<std::string_view, const TensorPlan*> tensors_;
};

class QdqWriter;
/// The bias of a product of codes as int32 codes at s_x * s_w; left in float where that can't be.
/// See bias.cc.
Status store_bias(Graph& graph, QdqWriter& writer, NodeId product);
/// Rounds the float biases of all products of codes to multiples of s_x * s_w. See bias.cc.
Status round_biases(Graph& graph);

} // namespace octet
