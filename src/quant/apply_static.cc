// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Conv(w, b) ─▶ Relu ─▶ y
// becomes, where the target wants a quantized output (ONNX Runtime, octet):
//   x ─▶ Q ─▶ DQ ─▶ Conv(DQ(w8), b) ─▶ Relu ─▶ Q ─▶ DQ ─▶ y        one DQ for each reader
// and where it does not (TensorRT):
//   x ─▶ Q ─▶ DQ ─▶ Conv(DQ(w8), b) ─▶ Relu ─▶ y
// The plan's node entries say which inputs and outputs; this file only writes them down.
#include <map>
#include <set>

#include "core/format.h"
#include "graph/label.h"
#include "quant/apply.h"
#include "quant/bias_site.h"
#include "quant/mean_correction.h"
#include "quant/qdq_writer.h"

namespace octet {

namespace {

class StaticWriter {
 public:
  StaticWriter(Graph& graph,
               const QuantizationPlan& plan,
               const Placement& placement,
               WeightStorage storage)
      : graph_(graph), plan_(plan), placement_(placement), storage_(storage), index_(graph, plan),
        writer_(graph) {}

  Status run() {
    if (storage_ == WeightStorage::kTarget) OCTET_TRY(correct_biases());
    const Uses uses(graph_);
    for (const NodePlan& node_plan : plan_.nodes)
      if (through_codes(node_plan)) OCTET_TRY(collect(node_plan, uses));
    for (const NodePlan& node_plan : plan_.nodes)
      if (through_codes(node_plan) && node_plan.weight) OCTET_TRY(write_weight(node_plan));
    for (const auto& [value, readers] : readers_)
      OCTET_TRY(write_activation(value, readers));
    if (storage_ == WeightStorage::kFloat) return ok_status();
    for (const NodePlan& node_plan : plan_.nodes)
      if (through_codes(node_plan) && node_plan.int32_bias)
        OCTET_TRY(store_bias(graph_, writer_, OCTET_TRY(index_.node(node_plan))));
    return ok_status();
  }

 private:
  using Reader = std::pair<NodeId, size_t>;
  struct Readers {
    std::vector<Reader> nodes;
    bool outputs = false; ///< graph outputs read it quantized too
    NodeId wanted_by;
  };

  static bool through_codes(const NodePlan& node_plan) {
    return node_plan.quantized && node_plan.rule != Placed::kEmbedding &&
           node_plan.rule != Placed::kDynamic;
  }

  Status collect(const NodePlan& node_plan, const Uses& uses) {
    const NodeId id = OCTET_TRY(index_.node(node_plan));
    const Node& node = graph_.node(id);
    for (const int64_t i : node_plan.inputs) {
      const ValueId value = node.input(static_cast<size_t>(i));
      if (i < 0 || !value.valid())
        return error("plan: node {} has no input {}", label(graph_, node), i);
      Readers& readers = readers_[value];
      readers.wanted_by = id;
      if (!whole_.contains(value)) readers.nodes.emplace_back(id, static_cast<size_t>(i));
    }
    if (!node_plan.output) return ok_status();
    const ValueId value = node.output(0);
    whole_.insert(value);
    Readers& readers = readers_[value];
    readers = {{}, graph_.is_output(value), id};
    for (const Uses::Use& use : uses.of(value))
      if (use.input < graph_.node(use.node).inputs.size())
        readers.nodes.emplace_back(use.node, use.input);
    return ok_status();
  }

  Status write_activation(ValueId value, const Readers& readers) {
    const TensorPlan* tensor = OCTET_TRY(index_.tensor(value, graph_.node(readers.wanted_by)));
    if (tensor->axis)
      return error("plan: activation \"{}\" has an axis; activations take one scale",
                   tensor->value);
    const std::string name = graph_.value(value).name;
    const ValueId codes = writer_.quantize(value, *tensor);
    ValueId shared;
    const auto dequantized = [&] {
      if (!placement_.one_dequantize || !shared.valid())
        shared = writer_.dequantize(codes, *tensor, name);
      return shared;
    };
    for (const auto& [node, input] : readers.nodes)
      graph_.set_node_input(node, input, dequantized());
    if (!readers.outputs) return ok_status();
    const ValueId out = dequantized();
    std::vector<ValueId> outputs = graph_.outputs();
    for (ValueId& o : outputs)
      if (o == value) o = out;
    graph_.set_outputs(std::move(outputs));
    graph_.rename(value, name + "_float"); // the graph's output keeps its name
    graph_.rename(out, name);
    graph_.set_type(out, graph_.value(value).type);
    return ok_status();
  }

  Status write_weight(const NodePlan& node_plan) {
    const NodeId id = OCTET_TRY(index_.node(node_plan));
    const auto input = static_cast<size_t>(*node_plan.weight);
    const ValueId w = graph_.node(id).input(input);
    const TensorPlan* tensor = OCTET_TRY(index_.tensor(w, graph_.node(id)));
    graph_.set_node_input(id, input, OCTET_TRY(writer_.weight(w, *tensor, weight_form())));
    return ok_status();
  }

  /// By the means of what products read; the weights are still in float.
  Status correct_biases() {
    SteppedGraph stepped(graph_);
    for (const NodePlan& node_plan : plan_.nodes) {
      if (!corrects_bias(node_plan)) continue;
      const NodeId id = OCTET_TRY(index_.node(node_plan));
      const Node& node = graph_.node(id);
      const TensorPlan* x = OCTET_TRY(index_.tensor(node.input(0), node));
      if (!x->means || summed_axis(graph_, node) != x->means->axis) continue;
      const auto site = bias_site(graph_, stepped.uses(), placement_, node);
      if (!site) continue;
      const ValueId w = node.input(1);
      const TensorPlan* weight = OCTET_TRY(index_.tensor(w, node));
      const Tensor codes = OCTET_TRY(writer_.weight_codes(w, *weight));
      const std::string name = label(graph_, node);
      const std::vector<float> delta = OCTET_TRY_WITH(
          mean_error(graph_, node, codes, *weight, x->means->values), fmt::format("node {}", name));
      OCTET_TRY(add_to_bias(stepped, site->node, site->input, delta));
    }
    return ok_status();
  }

  QdqWriter::WeightForm weight_form() const {
    if (storage_ == WeightStorage::kFloat) return QdqWriter::WeightForm::kTrained;
    return placement_.stored_weights ? QdqWriter::WeightForm::kStored
                                     : QdqWriter::WeightForm::kFloat;
  }

  Graph& graph_;
  const QuantizationPlan& plan_;
  const Placement& placement_;
  WeightStorage storage_;
  PlanIndex index_;
  QdqWriter writer_;
  std::set<ValueId> whole_; ///< quantized for all of their readers
  std::map<ValueId, Readers> readers_;
};

} // namespace

Status apply_static(Graph& graph,
                    const QuantizationPlan& plan,
                    const Placement& placement,
                    WeightStorage storage) {
  return StaticWriter(graph, plan, placement, storage).run();
}

} // namespace octet
