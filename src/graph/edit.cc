// SPDX-License-Identifier: Apache-2.0
#include "graph/edit.h"

#include <utility>
#include <vector>

namespace octet {

void replace_node(Graph& graph, NodeId node, ValueId result) {
  LiveUses uses(graph);
  replace_node(graph, uses, node, result);
}

void replace_node(Graph& graph, LiveUses& uses, NodeId node, ValueId result) {
  replace_node(graph, uses, node, std::span(&result, 1));
}

void replace_node(Graph& graph, LiveUses& uses, NodeId node, std::span<const ValueId> results) {
  std::vector<std::pair<ValueId, std::string>> named;
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueId replaced = graph.node(node).output(k), result = results[k];
    if (!replaced.valid()) continue;
    named.emplace_back(result, graph.value(replaced).name);
    if (!graph.value(result).is_constant()) graph.set_type(result, graph.value(replaced).type);
    uses.replace(graph, replaced, result);
  }
  uses.remove(graph.node(node));
  graph.remove_node(node);
  for (const auto& [result, name] : named)
    graph.rename(result, name);
}

Tensor int_list(std::span<const int64_t> values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return Tensor::of<int64_t>(shape, values);
}

Tensor transposed(const Tensor& matrix) {
  const int64_t rows = matrix.dim(0);
  const int64_t columns = matrix.dim(1);
  Tensor out = Tensor::zeros(matrix.type(), {columns, rows}).value();
  const auto from = matrix.bytes();
  const auto to = out.mutable_bytes();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
  return out;
}

void ints_to_input(Graph& graph, NodeId id, std::string_view attribute, size_t input) {
  Node& node = graph.mutable_node(id);
  const auto found = node.attributes.find(attribute);
  if (found == node.attributes.end()) return;
  const std::vector<int64_t> values = node.attr_ints(attribute);
  node.attributes.erase(found);
  if (values.empty()) return;
  const std::string name = node.name + "/" + std::string(attribute);
  graph.set_node_input(id, input, graph.add_constant(name, int_list(values)));
}

} // namespace octet
