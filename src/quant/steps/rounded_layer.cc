// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/rounded_layer.h"

#include <algorithm>
#include <limits>

#include "core/format.h"
#include "graph/label.h"
#include "graph/node_names.h"
#include "quant/scheme.h"
#include "quant/steps/channel_constants.h"

namespace octet {

/// What the bytes of codes are: of whole numbers the numbers themselves.
const FloatFormat* grid_format(DType type) {
  return is_integer(type) ? nullptr : float_format(type);
}

Result<WeightForm> weight_form(const Graph& graph, const Node& node, size_t input) {
  const auto constants = [&]() -> std::vector<ChannelConstant> {
    const Tensor* w = f32_constant(graph, node, 1);
    if (input != 1 || w == nullptr || w->rank() < 2) return {};
    const bool rows = node.is("Conv") || (node.is("Gemm") && node.attr_int("transB", 0) != 0);
    return output_constants(graph, node, w->dim(rows ? 0 : 1));
  }();
  if (constants.empty())
    return error("{} has no weights for each output at input {}", label(graph, node), input);
  const Tensor& w = *graph.constant(node.input(1));
  WeightForm out;
  out.axis = constants.front().axis;
  out.outputs = w.dim(out.axis);
  out.columns = out.outputs == 0 ? 0 : w.count() / out.outputs;
  out.groups = node.is("Conv") ? std::max<int64_t>(node.attr_int("group", 1), 1) : 1;
  for (int64_t d = 2; d < w.rank(); ++d)
    out.window *= w.dim(d);
  if (out.outputs == 0 || out.columns == 0 || out.outputs % out.groups != 0)
    return error("{} has weights of the shape {}", label(graph, node), to_string(w.shape()));
  return out;
}

namespace {

/// Larger layers keep nearest codes: their matrices would take gigabytes.
constexpr int64_t kMostColumns = 8192;

std::optional<RoundedLayer>
rounded_layer(const Graph& graph, const QuantizationPlan& plan, const Node& node) {
  auto form = weight_form(graph, node, 1);
  auto rows = LayerRows::of(graph, node);
  const TensorPlan* tensor = plan.tensor(graph.value(node.input(1)).name);
  if (!form.ok() || !rows.ok() || tensor == nullptr || rows->columns() > kMostColumns ||
      bits(tensor->scheme.type) > 8)
    return std::nullopt;
  form->block = tensor->block;
  if (tensor->axis && *tensor->axis != (form->block > 0 ? form->block_axis() : form->axis))
    return std::nullopt;
  RoundedLayer out{.node = node.id,
                   .form = *form,
                   .rows = std::move(*rows),
                   .scales = {},
                   .type = tensor->scheme.type,
                   .grid = {}};
  const std::vector<QuantParameters> parameters = parameters_for(tensor->scheme, tensor->ranges);
  out.scales.reserve(parameters.size());
  for (const QuantParameters& p : parameters) {
    if (p.zero_point != parameters.front().zero_point) return std::nullopt;
    out.scales.push_back(p.scale);
  }
  if (parameters.empty()) return std::nullopt;
  out.grid = CodeGrid::of(tensor->scheme, parameters.front().zero_point);
  const bool fits = grid_format(out.type) != nullptr ||
                    (out.grid.lowest() >= std::numeric_limits<int8_t>::min() &&
                     out.grid.highest() <= std::numeric_limits<int8_t>::max());
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

} // namespace

Result<std::vector<RoundedLayer>> rounded_layers(const Fitting& f) {
  const Graph& graph = f.graph;
  const QuantizationPlan plan = OCTET_TRY(with_chosen_ranges(graph, f.plan, StepStage::kWeights));
  const Uses uses(graph);
  const NodeNames nodes(graph);
  std::vector<RoundedLayer> out;
  for (const NodePlan& node_plan : plan.nodes) {
    const bool product = node_plan.rule == Placed::kProduct || node_plan.rule == Placed::kDynamic ||
                         node_plan.rule == Placed::kWeightOnly;
    if (!node_plan.quantized || !product || node_plan.weight != 1 || !f.takes(node_plan)) continue;
    const Node& node = graph.node(*nodes.find(node_plan.node));
    if (uses.count(node.input(1)) != 1) continue;
    if (auto layer = rounded_layer(graph, plan, node)) out.push_back(std::move(*layer));
  }
  return out;
}

RoundingProblem RoundedLayer::problem(std::span<const double> weights, int64_t group) const {
  RoundingProblem out;
  out.outputs = form.outputs / form.groups;
  out.columns = form.columns;
  out.grid = grid;
  if (form.block > 0)
    for (int64_t k = 0; k < out.columns; ++k)
      out.part.push_back(form.part(k));
  out.steps.reserve(static_cast<size_t>(out.outputs * form.parts()));
  out.weights.reserve(static_cast<size_t>(out.outputs * out.columns));
  for (int64_t m = 0; m < out.outputs; ++m) {
    const int64_t output = group * out.outputs + m;
    for (int64_t part = 0; part < form.parts(); ++part)
      out.steps.push_back(static_cast<double>(
          scales[scales.size() == 1 ? 0 : static_cast<size_t>(form.scale(output, part))]));
    for (int64_t k = 0; k < out.columns; ++k)
      out.weights.push_back(weights[static_cast<size_t>(form.element(output, k))]);
  }
  return out;
}

RoundedWeight RoundedLayer::with_codes(const std::string& node_name,
                                       std::span<const double> codes) const {
  const FloatFormat* format = grid_format(type);
  std::vector<int8_t> stored;
  stored.reserve(codes.size());
  for (const double number : codes)
    stored.push_back(format == nullptr ? static_cast<int8_t>(number)
                                       : static_cast<int8_t>(encode(*format, number)));
  RoundedWeight out;
  if (format != nullptr) out.type = name(type);
  out.block = form.block;
  out.weight = {node_name, 1};
  out.codes =
      Tensor::of<int8_t>({static_cast<int64_t>(stored.size())}, std::span<const int8_t>(stored));
  out.scales =
      Tensor::of<float>({static_cast<int64_t>(scales.size())}, std::span<const float>(scales));
  return out;
}

} // namespace octet
