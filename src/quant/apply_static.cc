// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Conv(w, b) ─▶ Relu ─▶ y
// becomes, where the target wants a quantized output (ONNX Runtime, octet):
//   x ─▶ Q ─▶ DQ ─▶ Conv(DQ(w8), b) ─▶ Relu ─▶ Q ─▶ DQ ─▶ y        one DQ for each reader
// and where it does not (TensorRT):
//   x ─▶ Q ─▶ DQ ─▶ Conv(DQ(w8), b) ─▶ Relu ─▶ y
// The plan's node entries say which inputs and outputs; this file only writes them down.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/format.h"
#include "quant/apply.h"
#include "quant/place.h"
#include "quant/qdq_writer.h"

namespace octet {

namespace {

class StaticWriter {
 public:
  StaticWriter(Graph& graph,
               const QuantizationPlan& plan,
               const Placement& placement,
               WeightStorage storage)
      : graph_(graph), plan_(plan), placement_(placement), storage_(storage), writer_(graph) {}

  Status run() {
    for (const NodePlan& node_plan : plan_.nodes)
      if (through_codes(node_plan)) OCTET_TRY(collect(node_plan));
    for (const NodePlan& node_plan : plan_.nodes) {
      if (!through_codes(node_plan)) continue;
      if (node_plan.int32_bias && storage_ == WeightStorage::kTarget)
        OCTET_TRY(write_bias(node_plan));
      if (node_plan.weight) OCTET_TRY(write_weight(node_plan));
    }
    for (const auto& [value, readers] : readers_)
      OCTET_TRY(write_activation(value, readers));
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
    return node_plan.quantized && node_plan.rule != kEmbeddingRule;
  }

  Status collect(const NodePlan& node_plan) {
    const NodeId id = OCTET_TRY(find_planned(graph_, node_plan));
    const Node& node = graph_.node(id);
    for (const int64_t i : node_plan.inputs) {
      const ValueId value = node.input(static_cast<size_t>(i));
      if (i < 0 || !value.valid()) return error("plan: node {} has no input {}", node.label(), i);
      Readers& readers = readers_[value];
      readers.wanted_by = id;
      if (!whole_.contains(value)) readers.nodes.emplace_back(id, static_cast<size_t>(i));
    }
    if (!node_plan.output) return ok_status();
    const ValueId value = node.output(0);
    whole_.insert(value);
    Readers& readers = readers_[value];
    readers = {{}, graph_.is_output(value), id};
    const Uses uses(graph_);
    for (const Uses::Use& use : uses.of(value))
      if (use.input < graph_.node(use.node).inputs.size())
        readers.nodes.emplace_back(use.node, use.input);
    return ok_status();
  }

  Status write_activation(ValueId value, const Readers& readers) {
    const TensorPlan* tensor =
        OCTET_TRY(find_planned(graph_, plan_, value, graph_.node(readers.wanted_by)));
    if (tensor->axis)
      return error("plan: activation \"{}\" has an axis; activations take one scale",
                   tensor->value);
    const std::string name = graph_.value(value).name;
    const ValueId codes = writer_.quantize(value, *tensor);
    for (const auto& [node, input] : readers.nodes)
      graph_.set_node_input(node, input, writer_.dequantize(codes, *tensor, name));
    if (!readers.outputs) return ok_status();
    const ValueId out = writer_.dequantize(codes, *tensor, name);
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
    const NodeId id = OCTET_TRY(find_planned(graph_, node_plan));
    const auto input = static_cast<size_t>(*node_plan.weight);
    const ValueId w = graph_.node(id).input(input);
    const TensorPlan* tensor = OCTET_TRY(find_planned(graph_, plan_, w, graph_.node(id)));
    const bool stored = storage_ == WeightStorage::kTarget && placement_.stored_weights;
    graph_.set_node_input(id, input, OCTET_TRY(writer_.weight(w, *tensor, stored)));
    return ok_status();
  }

  Status write_bias(const NodePlan& node_plan) {
    const NodeId id = OCTET_TRY(find_planned(graph_, node_plan));
    const Node& node = graph_.node(id);
    const TensorPlan* x = OCTET_TRY(find_planned(graph_, plan_, node.input(0), node));
    const TensorPlan* w = OCTET_TRY(find_planned(graph_, plan_, node.input(1), node));
    std::vector<float> w_scales;
    for (const QuantParameters& p : parameters_for(w->scheme, w->ranges))
      w_scales.push_back(p.scale);
    const float x_scale = parameters_for(x->scheme, x->ranges).at(0).scale;
    const auto bias = int32_bias(graph_, node, x_scale, w_scales);
    if (!bias) return ok_status(); // stays float: the layer then runs in float there
    const std::string name = graph_.value(node.input(2)).name;
    graph_.mutable_node(id).attributes.erase("beta");
    graph_.set_node_input(id, 2, writer_.int32_bias(name, bias->codes, bias->scales));
    return ok_status();
  }

  Graph& graph_;
  const QuantizationPlan& plan_;
  const Placement& placement_;
  WeightStorage storage_;
  QdqWriter writer_;
  std::set<ValueId> whole_; ///< quantized for all of their readers
  std::map<ValueId, Readers> readers_;
};

} // namespace

std::optional<Int32Bias> int32_bias(const Graph& graph,
                                    const Node& gemm,
                                    float x_scale,
                                    const std::vector<float>& w_scales) {
  const Tensor* bias = graph.constant(gemm.input(2));
  if (bias == nullptr || bias->type() != DType::kFloat32 || bias->rank() != 1) return std::nullopt;
  if (gemm.attr_float("alpha", 1.0F) != 1.0F) return std::nullopt;
  if (w_scales.size() != 1 && static_cast<int64_t>(w_scales.size()) != bias->count())
    return std::nullopt;
  const auto beta = static_cast<double>(gemm.attr_float("beta", 1.0F));
  constexpr int32_t kLargestCode = std::numeric_limits<int32_t>::max() / 2;
  Int32Bias out;
  for (const float w : w_scales)
    out.scales.push_back(x_scale * w);
  for (int64_t i = 0; i < bias->count(); ++i) {
    const float scale = out.scales[out.scales.size() == 1 ? 0 : static_cast<size_t>(i)];
    const double code = std::nearbyint(beta * bias->at(i) / static_cast<double>(scale));
    if (!std::isnormal(scale) || !(std::fabs(code) <= kLargestCode)) return std::nullopt;
    out.codes.push_back(static_cast<int32_t>(code));
  }
  return out;
}

Status apply_static(Graph& graph,
                    const QuantizationPlan& plan,
                    const Placement& placement,
                    WeightStorage storage) {
  return StaticWriter(graph, plan, placement, storage).run();
}

} // namespace octet
