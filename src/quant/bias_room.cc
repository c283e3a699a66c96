// SPDX-License-Identifier: Apache-2.0
#include "quant/bias_room.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/format.h"
#include "graph/node_names.h"
#include "ops/op.h"
#include "quant/scheme.h"

namespace octet {

namespace {

// Of an int32: steps of a plan may halve scales, and the products are added to the bias.
constexpr double kMostSteps = 1 << 29;

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

/// Widens `range` to a scale of `least`; whether that was needed.
bool widen(const Scheme& scheme, double scale, double least, Range& range) {
  if (!std::isfinite(least) || scale >= least) return false;
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
  const auto least_of = [&](double bias) { return bias / (kMostSteps * x_scale); };
  if (biases.size() != 1 && parameters.size() != 1 && parameters.size() != biases.size()) return 0;
  int64_t count = 0;
  for (size_t c = 0; c < parameters.size(); ++c) {
    double bias = biases[biases.size() == 1 ? 0 : c];
    if (parameters.size() == 1) bias = *std::max_element(biases.begin(), biases.end());
    count += widen(weight.scheme, parameters[c].scale, least_of(bias), weight.ranges[c]) ? 1 : 0;
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

} // namespace octet
