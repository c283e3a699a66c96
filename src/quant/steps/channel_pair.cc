// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/channel_pair.h"

#include <algorithm>
#include <cmath>

#include "graph/label.h"

namespace octet {

namespace {

bool is_product(const Node& node) {
  return node.is("Conv") || node.is("Gemm") || node.is("MatMul");
}

bool all_zero(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

/// Whether no element of the input's padding is read as a 0.
bool pads_nothing(const Node& node) {
  const std::string automatic = node.attr_string("auto_pad", "NOTSET");
  return (automatic == "NOTSET" || automatic == "VALID") && all_zero(node.attr_ints("pads"));
}

/// The elements behind axis 0, where all of their dimensions are constant.
std::optional<int64_t> elements_of_row(const TypeInfo& type) {
  if (!type.has_rank() || type.rank() < 2) return std::nullopt;
  int64_t out = 1;
  for (size_t d = 1; d < type.shape->size(); ++d) {
    const Dim& dim = (*type.shape)[d];
    if (!dim.is_constant()) return std::nullopt;
    out *= dim.value();
  }
  return out;
}

/// Follows the channels from a product's output to the next product.
class PairWalk {
 public:
  PairWalk(const SteppedGraph& stepped, ChannelPair& pair)
      : graph_(stepped.graph()), uses_(stepped.uses()), pair_(pair),
        value_(graph_.node(pair.first).output(0)), axis_(channel_axis(graph_.node(pair.first))) {}

  Status run() {
    for (;;) {
      const NodeId next = uses_.single_consumer(value_);
      if (!next.valid())
        return error("\"{}\" is not read by one node alone", graph_.value(value_).name);
      const Node& node = graph_.node(next);
      if (is_product(node)) return arrive(node);
      OCTET_TRY(pass(node));
      value_ = node.output(0);
    }
  }

  bool passes_shift() const { return passes_shift_; }

 private:
  Status arrive(const Node& node) {
    const auto weights = input_weights(graph_, node);
    if (!weights || node.input(0) != value_ || node.input(1) == value_ ||
        channel_axis(node) != axis_ ||
        graph_.constant(node.input(1))->dim(weights->axis) != pair_.channels * pair_.inner)
      return error("{} has no weights for each channel of \"{}\"", label(graph_, node),
                   graph_.value(value_).name);
    pair_.second = node.id;
    pair_.consumer = *weights;
    return ok_status();
  }

  Status pass(const Node& node) {
    if (node.is("Add")) return add(node);
    if (node.input(0) != value_) return blocked(node);
    if (node.is("Relu") || node.is("LeakyRelu") || node.is("Identity"))
      return constants_alone(node);
    if (node.is("PRelu"))
      return graph_.value(node.output(0)).type.shape == graph_.value(value_).type.shape
                 ? constants_alone(node)
                 : blocked(node);
    if (node.is("Clip")) return is_relu(node) ? ok_status() : blocked(node);
    if (node.is("MaxPool") || node.is("AveragePool") || node.is("GlobalAveragePool") ||
        node.is("GlobalMaxPool"))
      return pool(node);
    if (node.is("Flatten") || node.is("Reshape") || node.is("Squeeze") || node.is("Unsqueeze"))
      return reshape(node);
    return blocked(node);
  }

  Status blocked(const Node& node) const {
    return error("{} does not pass factors of channels on", label(graph_, node));
  }
  Status constants_alone(const Node& node) const {
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (graph_.constant(node.input(i)) == nullptr) return blocked(node);
    return ok_status();
  }

  /// The bias of a MatMul.
  Status add(const Node& node) {
    if (!graph_.node(pair_.first).is("MatMul") || pair_.makers.size() != 1 ||
        value_ != graph_.node(pair_.first).output(0))
      return blocked(node);
    const size_t input = node.input(0) == value_ ? 1 : 0;
    const Tensor* bias = f32_constant(graph_, node, input);
    if (bias == nullptr || bias->shape() != Shape{pair_.channels}) return blocked(node);
    pair_.makers.push_back({node.id, input, 0});
    return ok_status();
  }

  /// From 0 up, with no bound above.
  bool is_relu(const Node& node) const {
    const Tensor* low = graph_.constant(node.input(1));
    const Tensor* high = graph_.constant(node.input(2));
    return low != nullptr && low->count() == 1 && low->at(0) == 0 &&
           (!node.input(2).valid() ||
            (high != nullptr && high->count() == 1 && std::isinf(high->at(0))));
  }

  Status pool(const Node& node) {
    if (axis_ != 1 || node.outputs.size() > 1) return blocked(node);
    if (node.is("AveragePool") && node.attr_int("count_include_pad", 0) != 0 && !pads_nothing(node))
      passes_shift_ = false;
    return ok_status();
  }

  Status reshape(const Node& node) {
    const TypeInfo& from = graph_.value(value_).type;
    const TypeInfo& to = graph_.value(node.output(0)).type;
    if (!from.has_rank() || !to.has_rank() || to.rank() < 2 || from.rank() < 2)
      return blocked(node);
    const Dim& last = to.shape->back();
    if (axis_ == -1 && last.maybe_value() == pair_.channels * pair_.inner) return ok_status();
    const auto row = elements_of_row(from);
    if (axis_ != 1 || to.rank() != 2 || !row || last.maybe_value() != row ||
        (*from.shape)[1].maybe_value() != pair_.channels)
      return blocked(node);
    pair_.inner = *row / pair_.channels;
    axis_ = -1;
    return ok_status();
  }

  const Graph& graph_;
  const LiveUses& uses_;
  ChannelPair& pair_;
  ValueId value_;
  int64_t axis_;
  bool passes_shift_ = true;
};

/// A Conv or Gemm to which c can be moved or from which it can be taken.
bool has_plain_bias(const Graph& graph, const Node& node) {
  const Tensor* bias = f32_constant(graph, node, 2);
  return !node.is("MatMul") && bias != nullptr && bias->rank() == 1 &&
         node.attr_float("alpha", 1.0F) == 1.0F && node.attr_float("beta", 1.0F) == 1.0F;
}

} // namespace

Result<ChannelPair> channel_pair(const SteppedGraph& stepped, NodeId first) {
  const Graph& graph = stepped.graph();
  const Node& node = graph.node(first);
  ChannelPair out;
  out.first = first;
  const Tensor* w = is_product(node) ? f32_constant(graph, node, 1) : nullptr;
  if (w == nullptr || w->rank() < 2)
    return error("{} is no product with weights", label(graph, node));
  const bool rows = node.is("Conv") || (node.is("Gemm") && node.attr_int("transB", 0) != 0);
  out.channels = w->dim(rows ? 0 : 1);
  out.makers = output_constants(graph, node, out.channels);
  if (out.makers.empty() || out.channels == 0)
    return error("{} has no weights and bias for each channel of its output", label(graph, node));
  PairWalk walk(stepped, out);
  OCTET_TRY(walk.run());
  const Node& second = graph.node(out.second);
  const Tensor& weights = *graph.constant(second.input(1));
  out.absorbs = walk.passes_shift() && has_plain_bias(graph, node) &&
                has_plain_bias(graph, second) && (!second.is("Conv") || pads_nothing(second)) &&
                graph.constant(second.input(2))->dim(0) ==
                    weights.dim(output_axis(second, out.consumer.axis));
  return out;
}

std::vector<double> along_consumer(const ChannelPair& pair, std::span<const double> of) {
  std::vector<double> out;
  out.reserve(of.size() * static_cast<size_t>(pair.inner));
  for (const double v : of)
    out.insert(out.end(), static_cast<size_t>(pair.inner), v);
  return out;
}

} // namespace octet
