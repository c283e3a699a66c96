// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/shared_input.h"

#include <algorithm>

#include "graph/label.h"
#include "graph/node_names.h"
#include "quant/place.h"

namespace octet {

Result<SharedInput>
shared_input(const SteppedGraph& stepped, ValueId x, const std::vector<NodeId>& products) {
  const Graph& graph = stepped.graph();
  SharedInput out;
  for (const NodeId id : products) {
    const Node& node = graph.node(id);
    if (std::count(products.begin(), products.end(), id) > 1)
      return error("{} is a consumer twice", label(graph, node));
    if (node.input(0) != x || node.input(1) == x)
      return error("{} does not read \"{}\" at input 0", label(graph, node), graph.value(x).name);
    const auto weights = input_weights(graph, node);
    if (!weights)
      return error("{} has no weights for each channel of its input", label(graph, node));
    const int64_t channels = graph.constant(node.input(1))->dim(weights->axis);
    if (out.consumers.empty()) {
      out.axis = channel_axis(node);
      out.channels = channels;
    }
    if (channels != out.channels || channel_axis(node) != out.axis)
      return error("{} has {} channels on another axis than the other readers, or not {}",
                   label(graph, node), channels, out.channels);
    out.consumers.push_back(*weights);
  }
  if (out.consumers.empty()) return error("it has no consumers");
  return out;
}

Result<std::vector<NodeId>> consumer_nodes(const SteppedGraph& stepped,
                                           std::span<const InputOf> consumers) {
  std::vector<NodeId> out;
  for (const InputOf& consumer : consumers) {
    out.push_back(OCTET_TRY(stepped.node(consumer.node)));
    if (consumer.input != 1)
      return error("node \"{}\": its weights are input 1, not {}", consumer.node, consumer.input);
  }
  return out;
}

Result<std::map<ValueId, std::vector<NodeId>>> products_by_input(const Fitting& f) {
  std::map<ValueId, std::vector<NodeId>> out;
  const NodeNames nodes(f.graph);
  for (const NodePlan& node : OCTET_TRY(place(f.graph, f.placement, f.options))) {
    if (!node.quantized || node.rule != Placed::kProduct || node.weight != 1) continue;
    const NodeId id = *nodes.find(node.node);
    out[f.graph.node(id).input(0)].push_back(id);
  }
  return out;
}

} // namespace octet
