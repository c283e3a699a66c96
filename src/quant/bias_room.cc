// SPDX-License-Identifier: Apache-2.0
#include "quant/bias_room.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/format.h"
#include "graph/node_names.h"
#include "ops/op.h"
#include "ops/qdq/bias.h"
#include "ops/qdq/site.h"
#include "quant/scheme.h"

namespace octet {

namespace {

/// |bias| of each output channel as the sum of codes times s_x s_w has it; one for all where there
/// is one. Empty: none that is constant.
std::vector<double> biases_of(const Graph& graph, const Uses& uses, const Node& node) {
  const Tensor* bias = nullptr;
  double factor = 1;
  if (node.is("MatMul")) { // ONNX Runtime makes it a Gemm with the Add behind it
    const NodeId next = uses.single_consumer(node.output(0));
    if (!next.valid() || !graph.node(next).is("Add")) return {};
    const Node& add = graph.node(next);
    bias = graph.constant(add.input(add.input(0) == node.output(0) ? 1 : 0));
    if (bias != nullptr && bias->rank() > 0 && bias->count() != bias->dim(bias->rank() - 1))
      return {};
  } else {
    const OpDef* op = find_op(node.domain, node.op_type);
    if (op == nullptr || !node.input(2).valid() || op->roles.fn(node, 2) != Role::kBias) return {};
    bias = graph.constant(node.input(2));
    factor = std::fabs(node.attr_float("beta", 1.0F) / node.attr_float("alpha", 1.0F));
  }
  if (bias == nullptr || bias->type() != DType::kFloat32) return {};
  std::vector<double> out;
  for (int64_t i = 0; i < bias->count(); ++i)
    out.push_back(std::fabs(bias->at(i)) * factor);
  return out;
}

/// Of scale `c` of so many; 0: any, as it is not known which bias belongs to it. Steps of a plan may
/// halve scales.
double least_scale(const std::vector<double>& biases, double x_scale, size_t c, size_t scales) {
  if (scales == 1)
    return qdq::least_weight_scale(*std::max_element(biases.begin(), biases.end()), x_scale);
  if (biases.size() == 1) return qdq::least_weight_scale(biases.front(), x_scale);
  return biases.size() == scales ? qdq::least_weight_scale(biases[c], x_scale) : 0;
}

/// Widens `range` to a scale of `least`; whether that was needed.
bool widen(const Scheme& scheme, double scale, double least, Range& range) {
  if (scale >= least) return false;
  const double factor = least / scale;
  if (range.lo == 0 && range.hi == 0) {
    const double highest = std::ldexp(1.0, scheme.bits - 1) - 1;
    range = {static_cast<float>(-least * highest), static_cast<float>(least * highest)};
  } else {
    range.lo = static_cast<float>(range.lo * factor);
    range.hi = static_cast<float>(range.hi * factor);
  }
  return true;
}

/// How many channels were widened.
int64_t widen_channels(TensorPlan& weight, double x_scale, const std::vector<double>& biases) {
  const std::vector<QuantParameters> parameters = parameters_for(weight.scheme, weight.ranges);
  int64_t count = 0;
  for (size_t c = 0; c < parameters.size(); ++c) {
    const double least = least_scale(biases, x_scale, c, parameters.size());
    count += widen(weight.scheme, parameters[c].scale, least, weight.ranges[c]) ? 1 : 0;
  }
  return count;
}

} // namespace

void make_room_for_biases(const Graph& prepared,
                          const Placement& placement,
                          QuantizationPlan& plan) {
  if (!placement.rounds_biases || plan.mode != QuantMode::kStatic) return;
  const Uses uses(prepared);
  const NodeNames nodes(prepared);
  std::unordered_map<std::string_view, TensorPlan*> tensors;
  for (TensorPlan& tensor : plan.tensors)
    tensors.emplace(tensor.value, &tensor);
  const auto find = [&](ValueId id) {
    const auto found = tensors.find(prepared.value(id).name);
    return found == tensors.end() ? nullptr : found->second;
  };
  for (const NodePlan& node_plan : plan.nodes) {
    if (!node_plan.quantized || node_plan.rule != Placed::kProduct || !node_plan.weight ||
        node_plan.inputs.size() != 1)
      continue;
    const auto id = nodes.find(node_plan.node);
    if (!id) continue;
    const Node& node = prepared.node(*id);
    const TensorPlan* x = find(node.input(static_cast<size_t>(node_plan.inputs.front())));
    TensorPlan* w = find(node.input(static_cast<size_t>(*node_plan.weight)));
    if (x == nullptr || w == nullptr || x->axis || w->block > 0 || !is_integer(x->scheme.type) ||
        !is_integer(w->scheme.type))
      continue;
    const std::vector<double> biases = biases_of(prepared, uses, node);
    if (biases.empty()) continue;
    const double x_scale = parameters_for(x->scheme, x->ranges).front().scale;
    if (const int64_t count = widen_channels(*w, x_scale, biases); count > 0)
      w->note += fmt::format("{}{} wider for {} too large for int32 beside so small weights",
                             w->note.empty() ? "" : "; ",
                             !w->axis     ? "it is"
                             : count == 1 ? "1 channel is"
                                          : fmt::format("{} channels are", count),
                             count > 1 ? "biases" : "a bias");
  }
}

void make_room_for_biases(Graph& trained, const Placement& placement) {
  if (!placement.rounds_biases) return;
  const Uses uses(trained);
  for (const NodeId id : trained.nodes()) {
    const Node& node = trained.node(id);
    if (!node.is("MatMul") && !node.is("Gemm") && !node.is("Conv") && !node.is("ConvTranspose"))
      continue;
    const std::vector<double> biases = biases_of(trained, uses, node);
    const auto x = qdq::read_dequantize(trained, node.input(0)),
               w = qdq::read_dequantize(trained, node.input(1));
    if (biases.empty() || !x || !w || !x->grid.per_tensor() || !x->grid.code_range() ||
        !w->grid.code_range() || w->grid.block > 0 || w->grid.real() != DType::kFloat32)
      continue;
    const Node& dequantize = *trained.producer(node.input(1));
    const Node* quantize = trained.producer(dequantize.input(0));
    if (quantize != nullptr && quantize->is("Clip"))
      quantize = trained.producer(quantize->input(0));
    if (quantize == nullptr || !is_quantize(*quantize) ||
        trained.constant(quantize->input(0)) == nullptr)
      continue;
    std::vector<float> scales = w->grid.scale.to_floats().value();
    const std::vector<float> before = scales;
    for (size_t c = 0; c < scales.size(); ++c) {
      const double least = least_scale(biases, x->grid.one_scale(), c, scales.size());
      scales[c] = std::max(scales[c], static_cast<float>(least));
    }
    if (scales == before) continue;
    const ValueId old = dequantize.input(1);
    const ValueId wider = trained.add_constant(
        trained.unique_name(trained.value(old).name),
        Tensor::of<float>(w->grid.scale.shape(), std::span<const float>(scales)));
    trained.set_node_input(quantize->id, 1, wider);
    trained.set_node_input(dequantize.id, 1, wider);
  }
}

} // namespace octet
