// SPDX-License-Identifier: Apache-2.0
// Order and uses: who comes before whom, who uses what.
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "core/format.h"
#include "graph/label.h"

#include "octet/graph.h"

namespace octet {

Result<std::vector<NodeId>> Graph::topological() const {
  std::vector<NodeId> out = nodes();
  const size_t living = out.size();
  std::vector<int> waits(nodes_.size(), 0);
  // The followers of node i are those from first[i] to first[i + 1].
  std::vector<size_t> first(nodes_.size() + 1, 0);
  bool in_order = true;
  const auto for_each_before = [&](size_t i, const auto& visit) {
    for (const std::vector<ValueId>* ids : {&nodes_[i].inputs, &nodes_[i].captures})
      for (const ValueId id : *ids)
        if (id.valid() && value(id).producer.valid())
          visit(static_cast<size_t>(value(id).producer.index));
  };
  for (const NodeId id : out) {
    const auto i = static_cast<size_t>(id.index);
    for_each_before(i, [&](size_t before) {
      in_order = in_order && before < i;
      ++first[before + 1];
      ++waits[i];
    });
  }
  if (in_order) return out;
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int32_t> followers(first.back());
  std::vector<size_t> next(first.begin(), first.end() - 1);
  for (const NodeId id : out)
    for_each_before(static_cast<size_t>(id.index),
                    [&](size_t before) { followers[next[before]++] = id.index; });
  // Kahn's algorithm with the lowest id first keeps the order of insertion where it is one.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (const NodeId id : out)
    if (waits[static_cast<size_t>(id.index)] == 0) ready.push(id.index);
  out.clear();
  while (!ready.empty()) {
    const int32_t i = ready.top();
    ready.pop();
    out.push_back(NodeId{i});
    for (size_t k = first[static_cast<size_t>(i)]; k < first[static_cast<size_t>(i) + 1]; ++k)
      if (--waits[static_cast<size_t>(followers[k])] == 0) ready.push(followers[k]);
  }
  if (out.size() == living) return out;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (node_alive_[i] && waits[i] > 0)
      return error("node {}: is on a cycle: it needs a value that depends on its own output",
                   label(*this, nodes_[i]));
  return error(ErrorCode::kInternal, "the order of nodes lost one");
}

void Uses::Users::add(const Use& use) {
  sorted = sorted && (nodes.empty() || nodes.back() < use);
  nodes.push_back(use);
}

void Uses::Users::tidy() {
  if (gaps > 0) std::erase_if(nodes, [](const Use& use) { return use.input == kGap; });
  if (!sorted) std::sort(nodes.begin(), nodes.end());
  gaps = 0;
  sorted = true;
}

Uses::Uses(const Graph& graph) : users_(static_cast<size_t>(graph.value_bound())) {
  for (const NodeId id : graph.nodes())
    add_node(graph.node(id));
  for (const ValueId out : graph.outputs())
    ++users_[static_cast<size_t>(out.index)].outputs;
}

void Uses::add_node(const Node& node) {
  const auto use = [&](ValueId id, size_t input) {
    if (!id.valid()) return;
    const auto size = static_cast<size_t>(id.index) + 1;
    if (users_.size() < size) users_.resize(size);
    users_[size - 1].add({node.id, input});
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    use(node.inputs[i], i);
  for (size_t k = 0; k < node.captures.size(); ++k)
    use(node.captures[k], node.inputs.size() + k);
}

std::span<const Uses::Use> Uses::of(ValueId id) const {
  if (!knows(id)) return {};
  Users& users = users_[static_cast<size_t>(id.index)];
  users.tidy();
  return users.nodes;
}

int Uses::count(ValueId id) const {
  return knows(id) ? users_[static_cast<size_t>(id.index)].count() : 0;
}

NodeId Uses::single_consumer(ValueId id) const {
  return count(id) == 1 && of(id).size() == 1 ? of(id).front().node : NodeId{};
}

} // namespace octet
