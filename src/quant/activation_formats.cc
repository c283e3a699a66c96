// SPDX-License-Identifier: Apache-2.0
#include "quant/activation_formats.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/format.h"
#include "graph/label.h"
#include "quant/place.h"

namespace octet {

namespace {

/// What the readers of one value say.
struct Wish {
  ActivationFormat format;
  NodeId node;          ///< whose wish it is, the last of them
  NodeId calibrated_by; ///< whose calibrator it is
};

/// From the last layer to the first, so that readers come before what they read.
class Wishes {
 public:
  Wishes(const Graph& graph, const QuantizeOptions& options, DType bytes)
      : graph_(graph), options_(options), bytes_(bytes) {
    for (const NodeId id : graph.nodes())
      nodes_.try_emplace(graph.node(id).name, id);
  }

  Status add(const NodePlan& plan) {
    if (!plan.quantized) return ok_status();
    const Node& node = graph_.node(nodes_.at(plan.node));
    const auto behind = plan.output ? wishes_.find(node.output(0)) : wishes_.end();
    const bool read = behind != wishes_.end();
    if (plan.rule == Placed::kMoves && read) {
      const Wish wish = behind->second;
      wishes_.erase(behind);
      return merge(node.input(0), wish);
    }
    const NodeFormat own = node_format(options_, node);
    const NumberFormat format = own.activations.value_or(NumberFormat{bytes_});
    const Wish wish{{format, own.activation_bits, own.calibrator}, node.id, node.id};
    if (!plan.inputs.empty() || (plan.output && !read)) deciding_.insert(node.id);
    if (plan.output && !read && plan.rule != Placed::kMoves) wishes_.emplace(node.output(0), wish);
    for (const int64_t i : plan.inputs)
      OCTET_TRY(merge(node.input(static_cast<size_t>(i)), wish));
    return ok_status();
  }

  Status check_effects() const {
    for (const LayerFormat& layer : options_.layers)
      if ((layer.activation_bits || layer.calibrator ||
           (layer.activations && !is_float(*layer.activations))) &&
          std::none_of(deciding_.begin(), deciding_.end(),
                       [&](NodeId id) { return matches(layer, graph_.node(id)); }))
        return error(
            "pattern \"{}\" decides on no activation: no layer that it matches reads any in "
            "codes, or they only move them; name the layers that read them",
            layer.pattern);
    return ok_status();
  }

  std::map<ValueId, ActivationFormat> take() {
    std::map<ValueId, ActivationFormat> out;
    for (auto& [value, wish] : wishes_)
      out.emplace(value, wish.format);
    return out;
  }

 private:
  Status merge(ValueId value, const Wish& wish) {
    const auto [found, is_new] = wishes_.try_emplace(value, wish);
    if (is_new) return ok_status();
    Wish& known = found->second;
    if (known.format.format != wish.format.format)
      return error("\"{}\" is stored once and is read by {} in {} and by {} in {}; name one format "
                   "for both",
                   graph_.value(value).name, label(graph_, graph_.node(wish.node)),
                   name(wish.format.format), label(graph_, graph_.node(known.node)),
                   name(known.format.format));
    known.format.bits = std::max(known.format.bits, wish.format.bits);
    if (!wish.format.calibrator) return ok_status();
    if (!known.format.calibrator) {
      known.format.calibrator = wish.format.calibrator;
      known.calibrated_by = wish.calibrated_by;
    } else if (*known.format.calibrator != *wish.format.calibrator) {
      return error(
          "\"{}\" has one range and is read by {} with calibrator {} and by {} with {}; name "
          "one for both",
          graph_.value(value).name, label(graph_, graph_.node(wish.calibrated_by)),
          name(*wish.format.calibrator), label(graph_, graph_.node(known.calibrated_by)),
          name(*known.format.calibrator));
    }
    return ok_status();
  }

  const Graph& graph_;
  const QuantizeOptions& options_;
  DType bytes_;
  std::unordered_map<std::string_view, NodeId> nodes_; ///< by name
  std::map<ValueId, Wish> wishes_;
  std::set<NodeId> deciding_;
};

} // namespace

Result<std::map<ValueId, ActivationFormat>> activation_formats(const Graph& graph,
                                                               std::span<const NodePlan> nodes,
                                                               const QuantizeOptions& options,
                                                               DType bytes) {
  Wishes wishes(graph, options, bytes);
  for (size_t i = nodes.size(); i-- > 0;)
    OCTET_TRY(wishes.add(nodes[i]));
  OCTET_TRY(wishes.check_effects());
  return wishes.take();
}

} // namespace octet
