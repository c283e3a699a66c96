// SPDX-License-Identifier: Apache-2.0
#include "graph/live_uses.h"

#include <algorithm>
#include <tuple>

#include "graph/bodies.h"

namespace octet {

void LiveUses::forget(ValueId id, NodeId node) {
  if (!knows(id)) return;
  Users& users = users_[static_cast<size_t>(id.index)];
  auto at = users.nodes.begin(), end = users.nodes.end();
  if (users.sorted)
    std::tie(at, end) = std::equal_range(
        at, end, Use{node, 0}, [](const Use& a, const Use& b) { return a.node < b.node; });
  for (; at != end; ++at) {
    if (at->node != node || at->input == kGap) continue;
    at->input = kGap;
    ++users.gaps;
  }
}

void LiveUses::grow(ValueId id) {
  const auto size = static_cast<size_t>(id.index) + 1;
  if (users_.size() < size) users_.resize(size);
}

void LiveUses::add_from(const Graph& graph, NodeId first) {
  for (NodeId id = first; id.index < graph.node_bound(); ++id.index)
    if (graph.alive(id)) add(graph.node(id));
}

void LiveUses::remove(const Node& node) {
  for (const ValueId id : node.inputs)
    forget(id, node.id);
  for (const ValueId id : node.captures)
    forget(id, node.id);
}

void LiveUses::set_input(Graph& graph, NodeId id, size_t index, ValueId value) {
  // A longer list of inputs moves the numbers of the captures.
  const Node& node = graph.node(id);
  if (index >= node.inputs.size()) {
    remove(node);
    graph.set_node_input(id, index, value);
    add(graph.node(id));
    return;
  }
  const ValueId before = node.inputs[index];
  forget(before, id);
  graph.set_node_input(id, index, value);
  const auto use_again = [&](ValueId used) {
    if (!used.valid()) return;
    grow(used);
    Users& users = users_[static_cast<size_t>(used.index)];
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == used) users.add({id, i});
    for (size_t k = 0; k < node.captures.size(); ++k)
      if (node.captures[k] == used) users.add({id, node.inputs.size() + k});
  };
  use_again(before);
  if (value == before) return;
  forget(value, id);
  use_again(value);
}

void LiveUses::replace(Graph& graph, ValueId from, ValueId to) {
  if (from == to) return;
  grow(std::max(from, to));
  Users& before = users_[static_cast<size_t>(from.index)];
  Users& after = users_[static_cast<size_t>(to.index)];
  before.tidy();
  for (const Use& use : before.nodes) {
    replace_uses(graph.mutable_node(use.node), from, to);
    after.add(use);
  }
  after.outputs += before.outputs;
  if (before.outputs > 0) {
    std::vector<ValueId> outputs = graph.outputs();
    std::replace(outputs.begin(), outputs.end(), from, to);
    graph.set_outputs(std::move(outputs));
  }
  before = {};
}

int LiveUses::remove_dead(Graph& graph, std::vector<ValueId> freed, DeadConstants dead_constants) {
  int removed = 0;
  while (!freed.empty()) {
    const ValueId id = freed.back();
    freed.pop_back();
    const Node* maker = graph.producer(id);
    if (maker == nullptr) {
      if (dead_constants == DeadConstants::kGo && id.valid() && count(id) == 0)
        graph.remove_value(id);
      continue;
    }
    if (!std::all_of(maker->outputs.begin(), maker->outputs.end(),
                     [&](ValueId out) { return !out.valid() || count(out) == 0; }))
      continue;
    remove(*maker);
    freed.insert(freed.end(), maker->inputs.begin(), maker->inputs.end());
    freed.insert(freed.end(), maker->captures.begin(), maker->captures.end());
    graph.remove_node(maker->id);
    ++removed;
  }
  return removed;
}

} // namespace octet
