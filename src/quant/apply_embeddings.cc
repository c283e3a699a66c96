// SPDX-License-Identifier: Apache-2.0
//   Gather(table, i)      =>  Cast(Gather(table8, i)) * Unsqueeze(Gather(scales, i))
// Only the rows that are asked for are computed; a DQ before Gather would make the whole table at
// every run. Source: docs/targets.md section 9.
#include "core/format.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "quant/apply.h"
#include "quant/qdq_writer.h"
#include "quant/weight_ranges.h"

namespace octet {

namespace {

Status write_embedding(
    Graph& graph, LiveUses& uses, QdqWriter& writer, NodeId id, const TensorPlan& tensor) {
  const NodeId first_new{graph.node_bound()};
  const Node node = graph.node(id);
  const std::string table = graph.value(node.input(0)).name;
  const Tensor* rows_of = graph.constant(node.input(0));
  if (rows_of == nullptr)
    return error("plan: {} gathers from \"{}\", which is not constant", label(graph, node), table);
  const Tensor codes = OCTET_TRY(weight_codes(*rows_of, tensor));
  const ValueId stored = graph.add_constant(table + "_quantized", codes);
  const ValueId rows = graph.emit("Gather", {stored, node.input(1)}, node.attributes,
                                  graph.unique_name(node.name + "_codes"));
  ValueId result;
  if (tensor.axis) {
    const ValueId all = writer.constant(table + "_scale", grid_for(tensor, codes.shape()).scale);
    const ValueId axes = writer.constant("last_axis", Tensor::of<int64_t>({1}, {-1}));
    const ValueId picked = graph.emit("Gather", {all, node.input(1)}, node.attributes,
                                      graph.unique_name(node.name + "_scales"));
    const ValueId column =
        graph.emit("Unsqueeze", {picked, axes}, {}, graph.unique_name(node.name + "_scale_column"));
    Attributes to_float;
    to_float["to"].value = static_cast<int64_t>(DType::kFloat32);
    const ValueId real =
        graph.emit("Cast", {rows}, to_float, graph.unique_name(node.name + "_real"));
    result = graph.emit("Mul", {real, column}, {}, graph.unique_name(node.name + "_dequantized"));
  } else {
    result = writer.dequantize(rows, tensor, node.name);
  }
  uses.add_from(graph, first_new);
  replace_node(graph, uses, id, result);
  return ok_status();
}

/// The plan of a table with the ranges that its values have now.
Result<TensorPlan> observed_again(const TensorPlan& plan, const Tensor& table) {
  const Calibrator calibrator = OCTET_TRY(parse_calibrator(plan.algorithm));
  TensorPlan out = plan;
  out.ranges = OCTET_TRY(weight_ranges(table, plan, calibrator));
  return out;
}

} // namespace

Status apply_embeddings(Graph& graph, const QuantizationPlan& plan, EmbeddingRanges ranges) {
  const PlanIndex index(graph, plan);
  LiveUses uses(graph);
  QdqWriter writer(graph);
  for (const NodePlan& node_plan : plan.nodes) {
    if (!node_plan.quantized || node_plan.rule != Placed::kEmbedding) continue;
    const NodeId id = OCTET_TRY(index.node(node_plan));
    const ValueId table = graph.node(id).input(0);
    const TensorPlan* planned = OCTET_TRY(index.tensor(table, graph.node(id)));
    const Tensor* values = graph.constant(table);
    if (ranges == EmbeddingRanges::kPlanned || values == nullptr) {
      OCTET_TRY(write_embedding(graph, uses, writer, id, *planned));
      continue;
    }
    const TensorPlan again = OCTET_TRY(observed_again(*planned, *values));
    OCTET_TRY(write_embedding(graph, uses, writer, id, again));
  }
  return ok_status();
}

} // namespace octet
