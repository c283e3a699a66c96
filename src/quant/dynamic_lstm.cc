// SPDX-License-Identifier: Apache-2.0
//   LSTM(x, W, R, B, , h, c, P)
//   =>  com.microsoft.DynamicQuantizeLSTM(x, W8, R8, B, , h, c, P, scales and zero points)
// W8 and R8 are W and R in codes with their last two axes exchanged.
#include "quant/dynamic_lstm.h"

#include "core/format.h"
#include "graph/domains.h"
#include "graph/edit.h"
#include "ops/native/recurrent.h"
#include "passes/lower/context.h"

namespace octet {

namespace {

constexpr size_t kWeights[] = {1, 2}; ///< W and R, whose axis of channels is 1
constexpr size_t kInputs = 8;         ///< of LSTM; scales and zero points of W and R follow

std::string why_not(const Graph& graph,
                    const Placement& placement,
                    const Node& node,
                    const NodeFormat& format) {
  if (placement.dynamic == DynamicForm::kNone) return "the target has no dynamic LSTM";
  if (format.weights && *format.weights != NumberFormat{})
    return name(*format.weights) + " weights have no dynamic form";
  if (graph.value(node.input(0)).type.type != DType::kFloat32) return "it is not computed in f32";
  for (const size_t i : kWeights) {
    const Tensor* w = graph.constant(node.input(i));
    if (w == nullptr || w->type() != DType::kFloat32 || w->rank() != 3 || w->count() == 0)
      return fmt::format("its {} is not an f32 constant", i == 1 ? "W" : "R");
  }
  return native::why_not_stepwise(
      node, [&](size_t i) { return graph.constant(node.input(i)) != nullptr; });
}

struct Weight {
  Tensor codes, scales, zero_points;
};

Result<Weight> weight_of(const Tensor& w, const TensorPlan& plan) {
  if (!plan.scheme.symmetric || plan.scheme.type != DType::kInt8 || plan.block > 0 ||
      (plan.axis && *plan.axis != 1))
    return error("plan: a dynamic LSTM takes symmetric int8 weights without blocks, with one scale "
                 "or one for each row of the gates, not {}",
                 scheme_text(plan.scheme));
  Weight out;
  constexpr int64_t kTurned[] = {0, 2, 1};
  out.codes = lowering::permuted(OCTET_TRY(weight_codes(w, plan)), kTurned);
  const auto parameters = parameters_for(plan.scheme, plan.ranges);
  const auto count = static_cast<int64_t>(parameters.size());
  const Shape shape = plan.axis ? Shape{w.dim(0), count} : Shape{w.dim(0)};
  std::vector<float> scales;
  for (int64_t d = 0; d < w.dim(0); ++d)
    for (const QuantParameters& p : parameters)
      scales.push_back(p.scale);
  out.scales = Tensor::of<float>(shape, std::span<const float>(scales));
  out.zero_points = OCTET_TRY(Tensor::zeros(DType::kInt8, shape));
  return out;
}

} // namespace

bool is_dynamic_lstm(const NodePlan& plan) {
  return plan.quantized && plan.rule == Placed::kDynamic && plan.op == "LSTM";
}

std::vector<size_t> weight_inputs(const NodePlan& plan) {
  if (is_dynamic_lstm(plan)) return {std::begin(kWeights), std::end(kWeights)};
  if (plan.weight) return {static_cast<size_t>(*plan.weight)};
  return {};
}

NodePlan place_dynamic_lstm(const Graph& graph,
                            const Placement& placement,
                            const QuantizeOptions& options,
                            const Node& node,
                            NodePlan plan) {
  plan.clause = "4.1";
  plan.why = why_not(graph, placement, node, node_format(options, node));
  if (!plan.why.empty()) {
    plan.weight.reset();
    plan.clause.clear();
    plan.rule = Placed::kFloat;
    return plan;
  }
  plan.quantized = true;
  plan.weight = static_cast<int64_t>(kWeights[0]);
  plan.rule = Placed::kDynamic;
  plan.why = "int8 weights, input and states quantized at every run";
  return plan;
}

Status write_dynamic_lstm(
    Graph& graph, LiveUses& uses, MadeTensors& made, const PlanIndex& index, NodeId id) {
  const Node node = graph.node(id);
  std::vector<ValueId> inputs(kInputs);
  for (size_t i = 0; i < kInputs; ++i)
    inputs[i] = node.input(i);
  for (const size_t i : kWeights) {
    const Tensor* w = graph.constant(node.input(i));
    if (w == nullptr || w->rank() != 3) return error("plan: its weights are not constant");
    const Weight weight = OCTET_TRY(weight_of(*w, *OCTET_TRY(index.tensor(node.input(i), node))));
    const std::string name = graph.value(node.input(i)).name;
    inputs[i] = graph.add_constant(graph.unique_name(name + "_quantized"),
                                   OCTET_TRY(made.keep(weight.codes)));
    inputs.push_back(graph.add_constant(graph.unique_name(name + "_scale"), weight.scales));
    inputs.push_back(
        graph.add_constant(graph.unique_name(name + "_zero_point"), weight.zero_points));
  }
  Attributes attributes = node.attributes;
  attributes.erase("layout");
  graph.opsets[kMicrosoft] = 1;
  const NodeId first_new{graph.node_bound()};
  const auto count = static_cast<int>(node.outputs.size());
  const ValueId y = graph.emit("DynamicQuantizeLSTM", std::move(inputs), std::move(attributes),
                               graph.unique_name(node.name), kMicrosoft, count);
  uses.add_from(graph, first_new);
  const std::vector<ValueId> results = graph.producer(y)->outputs;
  replace_node(graph, uses, id, results);
  return ok_status();
}

} // namespace octet
