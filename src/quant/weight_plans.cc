// SPDX-License-Identifier: Apache-2.0
#include "quant/weight_plans.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/pages.h"
#include "graph/label.h"
#include "graph/node_names.h"
#include "ops/infer.h"
#include "quant/dynamic_lstm.h"
#include "quant/format_rules.h"
#include "quant/reduced_range.h"
#include "quant/scheme.h"
#include "quant/weight_ranges.h"

namespace octet {

namespace {

/// Products of int8 codes that surely fit into int32 together: 2^31 / (128 * 255), rounded down.
constexpr int64_t kSafeTerms = 65000;

/// The axis along which blocks of a weight lie: the one that a product sums, in front of a
/// kernel's window.
std::optional<int64_t> summed_axis(const Node& node, int64_t rank, int64_t channels) {
  if (node.is("Conv")) return 1;
  if (node.is("ConvTranspose")) return 0;
  if (channels == rank - 1) return rank - 2;
  return channels == rank - 2 ? std::optional(rank - 1) : std::nullopt;
}

int64_t count_infinities(const Tensor& w) {
  const Tensor aligned = w.aligned();
  const auto x = aligned.data<float>();
  const auto count = std::count_if(x.begin(), x.end(), [](float v) { return std::isinf(v); });
  if (w.bytes().size() >= kLargeTensorBytes) w.page_out();
  return count;
}

void leave_float(NodePlan& node_plan, Placed rule, std::string why) {
  node_plan.quantized = false;
  node_plan.inputs.clear();
  node_plan.weight.reset();
  node_plan.output = false;
  node_plan.int32_bias = false;
  node_plan.rule = rule;
  node_plan.why = std::move(why);
}

} // namespace

std::string replaced_note(const TensorPlan& tensor) {
  const auto parameters = parameters_for(tensor.scheme, tensor.ranges);
  std::string channels;
  int count = 0;
  for (size_t c = 0; c < parameters.size(); ++c) {
    if (!parameters[c].replaced) continue;
    if (++count <= 8) channels += (count > 1 ? ", " : "") + std::to_string(c);
  }
  if (count == 0) return {};
  if (!tensor.axis) return "it is all zero: scale 1";
  return fmt::format("{} {} are all zero ({}{}): they take the smallest other scale", count,
                     tensor.block > 0 ? "blocks" : "channels", channels, count > 8 ? ", ..." : "");
}

QuantTrait WeightPlans::trait(const Node& node) const {
  return find_op(node.domain, node.op_type)->quant.fn(node, input_infos(graph_, node));
}

Status WeightPlans::list() {
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const NodeId id : graph_.nodes())
    nodes.try_emplace(graph_.node(id).name, id);
  for (NodePlan& node_plan : plan_.nodes) {
    if (!node_plan.weight) continue;
    const Node& node = graph_.node(nodes.at(node_plan.node));
    const std::vector<size_t> inputs = weight_inputs(node_plan);
    int64_t infinities = 0;
    for (const size_t i : inputs)
      infinities += count_infinities(*graph_.constant(node.input(i)));
    if (infinities > 0) {
      leave_float(
          node_plan, Placed::kWeightNotF32,
          fmt::format("its weight holds {}",
                      infinities == 1 ? "an infinity" : fmt::format("{} infinities", infinities)));
      continue;
    }
    const NodeFormat format = node_format(options_, node);
    for (size_t k = 1; k < inputs.size(); ++k) {
      const ValueId more = node.input(inputs[k]);
      OCTET_TRY(add({more, node.id}, plan_of(node, *graph_.constant(more), format)));
    }
    const ValueId id = node.input(inputs.front());
    const Tensor& w = *graph_.constant(id);
    TensorPlan planned = plan_of(node, w, format);
    if (!takes_blocks(w, planned)) {
      OCTET_TRY(check_named_blocks(node, w, planned));
      const TensorPlan whole = plan_of(node, w, without_blocks(w, format));
      node_plan.why += fmt::format(
          "; {} {}, as it sums {} numbers along axis {} of {} and {} takes blocks that divide one "
          "of the last two axes",
          name(format_of(whole.scheme, 0)), kWithoutBlocks, w.dim(*planned.axis), *planned.axis,
          to_string(w.shape()), placement_.target);
      planned = whole;
    }
    OCTET_TRY(check_even(node, w, planned));
    OCTET_TRY(add({id, node.id}, std::move(planned)));
    const bool sums_bytes =
        node_plan.rule != Placed::kWeightOnly && format.byte_weights() && format.byte_activations();
    if (sums_bytes && !fits_int32(node, w))
      leave_float(node_plan, Placed::kOverflow,
                  fmt::format("an int32 sum of more than {} products could overflow", kSafeTerms));
  }
  return check_effects();
}

Status WeightPlans::check_effects() const {
  const NodeNames nodes(graph_);
  for (const LayerFormat& layer : options_.layers) {
    if (layer.exact || !layer.weights || is_float(*layer.weights)) continue;
    const NodePlan* first = nullptr;
    const bool decides =
        std::any_of(plan_.nodes.begin(), plan_.nodes.end(), [&](const NodePlan& node_plan) {
          const auto id = nodes.find(node_plan.node);
          if (!id || !matches(layer, graph_.node(*id))) return false;
          if (first == nullptr) first = &node_plan;
          return node_plan.quantized && node_plan.weight.has_value();
        });
    if (!decides && first != nullptr)
      return error(ErrorCode::kUnsupported,
                   "pattern \"{}\" stores no weights in {}: no layer that it matches has its "
                   "weights in codes; of \"{}\" ({}): {}",
                   layer.pattern, name(*layer.weights), first->node, first->op, first->why);
  }
  return ok_status();
}

/// Everything but the range.
TensorPlan WeightPlans::plan_of(const Node& node, const Tensor& w, const NodeFormat& format) const {
  TensorPlan out;
  out.scheme = placement_.weight;
  if (format.weights)
    out.scheme = scheme_of(*format.weights, placement_.weight);
  else
    out.scheme = with_bits(placement_.weight, format.weight_bits);
  out.algorithm = name(options_.weight_calibrator);
  if (direct_range(out.scheme, options_.direct_weights)) {
    out.algorithm = kDirect;
    return out;
  }
  if (w.rank() < 2) return out;
  const int64_t a = node.is("Gather") ? 0 : trait(node).weight_axis;
  const int64_t channels = a < 0 ? a + w.rank() : a;
  const bool multiplied = options_.mode != QuantMode::kWeightOnly;
  const bool several = multiplied && node.is("MatMul") && w.rank() > 2;
  if (format.per_channel && (placement_.scales_of_matrices || !several)) out.axis = channels;
  const int64_t block = format.weights ? format.weights->block : 0;
  const auto summed = block > 0 ? summed_axis(node, w.rank(), channels) : std::nullopt;
  if (!summed) return out;
  out.axis = summed;
  out.block = block;
  return out;
}

bool WeightPlans::takes_blocks(const Tensor& w, const TensorPlan& plan) const {
  if (plan.block == 0 || !placement_.whole_blocks) return true;
  return w.dim(*plan.axis) % plan.block == 0 && *plan.axis >= w.rank() - 2;
}

/// Blocks that are wanted of all layers go where the target takes them; of a layer by name they are
/// that wish.
Status
WeightPlans::check_named_blocks(const Node& node, const Tensor& w, const TensorPlan& plan) const {
  if (std::none_of(options_.layers.begin(), options_.layers.end(), [&](const LayerFormat& layer) {
        return layer.weights && layer.weights->block > 0 && matches(layer, node);
      }))
    return ok_status();
  return error(
      ErrorCode::kUnsupported,
      "{} sums {} numbers along axis {} of {}: target {} takes blocks that divide one of the "
      "last two axes; choose another size, or none for this layer",
      label(graph_, node), w.dim(*plan.axis), *plan.axis, to_string(w.shape()), placement_.target);
}

/// The same codes with a scale for each channel, or int8 where the target has none such.
NodeFormat WeightPlans::without_blocks(const Tensor& w, NodeFormat format) const {
  format.weights->block = 0;
  const bool odd =
      format.weights->type == DType::kInt4 && placement_.even_int4 && w.count() % 2 != 0;
  if (!odd && format.weights->scale == DType::kFloat32) return format;
  format.weights.reset();
  format.weight_bits = all_bits(placement_.weight.type);
  return format;
}

Status WeightPlans::check_even(const Node& node, const Tensor& w, const TensorPlan& plan) const {
  if (plan.scheme.type != DType::kInt4 || !placement_.even_int4 || w.count() % 2 == 0)
    return ok_status();
  return error(ErrorCode::kUnsupported,
               "{} has a weight {}: target {} takes int4 weights with an even number of elements "
               "(targets 1.1 row 20); name another format for it, as in --layer {}:weights=int8",
               label(graph_, node), to_string(w.shape()), placement_.target, node.name);
}

Status WeightPlans::add(const Weight& weight, TensorPlan out) {
  out.value = graph_.value(weight.value).name;
  if (weights_.contains(out.value)) {
    const TensorPlan& known = *plan_.tensor(out.value);
    const NumberFormat theirs = format_of(known.scheme, known.block),
                       ours = format_of(out.scheme, out.block);
    if (theirs != ours || (out.block > 0 && known.axis != out.axis))
      return error(
          "weight \"{}\" is stored once and is read by {} in {} along axis {} and by {} in "
          "{} along axis {}; name one format for both, without blocks",
          out.value, label(graph_, graph_.node(weights_.at(out.value).reader)), name(theirs),
          known.axis.value_or(0), label(graph_, graph_.node(weight.reader)), name(ours),
          out.axis.value_or(0));
    if (known.axis != out.axis) out.axis.reset(); // two readers want different axes: one scale
    if (known.scheme.bits > out.scheme.bits) out.scheme = known.scheme;
    std::erase_if(plan_.tensors, [&](const TensorPlan& t) { return t.value == out.value; });
  }
  weights_[out.value] = weight;
  plan_.tensors.push_back(std::move(out));
  return ok_status();
}

Status WeightPlans::observe() {
  for (TensorPlan& tensor : plan_.tensors) {
    const auto weight = weights_.find(tensor.value);
    if (weight == weights_.end()) continue;
    const Node& reader = graph_.node(weight->second.reader);
    OCTET_TRY_WITH(observe(tensor, *graph_.constant(weight->second.value), reader),
                   fmt::format("weight \"{}\" of {}", tensor.value, label(graph_, reader)));
  }
  return ok_status();
}

Status WeightPlans::observe(TensorPlan& tensor, const Tensor& w, const Node& reader) const {
  if (tensor.algorithm == kDirect) {
    tensor.ranges = {direct_range(tensor.scheme, true).value()};
    return ok_status();
  }
  tensor.ranges = OCTET_TRY(weight_ranges(w, tensor, options_.weight_calibrator));
  tensor.note = replaced_note(tensor);
  if (options_.reduce_range) OCTET_TRY(reduce_range(reader, w, tensor));
  if (w.bytes().size() >= kLargeTensorBytes) w.page_out();
  return ok_status();
}

/// Whether the codes' products fit into int32 for every output channel.
bool WeightPlans::fits_int32(const Node& node, const Tensor& w) const {
  if (node.is("Gather") || w.rank() < 2) return true;
  const int64_t a = trait(node).weight_axis;
  return w.count() <= kSafeTerms * std::max<int64_t>(w.dim(a < 0 ? a + w.rank() : a), 1);
}

} // namespace octet
