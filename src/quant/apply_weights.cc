// SPDX-License-Identifier: Apache-2.0
//   op(x, w)  =>  op(x, DQ(w8))
#include "quant/apply.h"
#include "quant/qdq_writer.h"

namespace octet {

Status apply_weights(Graph& graph, const QuantizationPlan& plan, const Placement& placement) {
  const PlanIndex index(graph, plan);
  const auto form =
      placement.stored_weights ? QdqWriter::WeightForm::kStored : QdqWriter::WeightForm::kFloat;
  QdqWriter writer(graph);
  for (const NodePlan& node_plan : plan.nodes) {
    if (!node_plan.quantized || !node_plan.weight || node_plan.rule == Placed::kDynamic ||
        node_plan.rule == Placed::kEmbedding)
      continue;
    const NodeId id = OCTET_TRY(index.node(node_plan));
    const auto input = static_cast<size_t>(*node_plan.weight);
    const ValueId w = graph.node(id).input(input);
    const TensorPlan* tensor = OCTET_TRY(index.tensor(w, graph.node(id)));
    graph.set_node_input(id, input, OCTET_TRY(writer.weight(w, *tensor, form)));
  }
  return ok_status();
}

} // namespace octet
