// SPDX-License-Identifier: Apache-2.0
#include "graph/live_uses.h"

#include <algorithm>
#include <utility>

namespace octet {

LiveUses::LiveUses(const Graph& graph)
    : uses_(static_cast<size_t>(graph.value_bound())),
      output_uses_(static_cast<size_t>(graph.value_bound()), 0) {
  for (const NodeId id : graph.nodes())
    add(graph.node(id));
  for (const ValueId out : graph.outputs())
    ++output_uses_[static_cast<size_t>(out.index)];
}

std::span<const Uses::Use> LiveUses::of(ValueId id) const {
  if (!id.valid() || static_cast<size_t>(id.index) >= uses_.size()) return {};
  return uses_[static_cast<size_t>(id.index)];
}

int LiveUses::count(ValueId id) const {
  if (!id.valid() || static_cast<size_t>(id.index) >= uses_.size()) return 0;
  const auto i = static_cast<size_t>(id.index);
  return static_cast<int>(uses_[i].size()) + output_uses_[i];
}

NodeId LiveUses::single_consumer(ValueId id) const {
  return count(id) == 1 && of(id).size() == 1 ? of(id).front().node : NodeId{};
}

void LiveUses::grow(ValueId id) {
  const auto size = static_cast<size_t>(id.index) + 1;
  if (uses_.size() >= size) return;
  uses_.resize(size);
  output_uses_.resize(size, 0);
}

void LiveUses::add(const Node& node) {
  const auto use = [&](ValueId id, size_t input) {
    if (!id.valid()) return;
    grow(id);
    uses_[static_cast<size_t>(id.index)].push_back({node.id, input});
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    use(node.inputs[i], i);
  for (size_t k = 0; k < node.captures.size(); ++k)
    use(node.captures[k], node.inputs.size() + k);
}

void LiveUses::remove(const Node& node) {
  const auto forget = [&](ValueId id) {
    if (!id.valid() || static_cast<size_t>(id.index) >= uses_.size()) return;
    std::erase_if(uses_[static_cast<size_t>(id.index)],
                  [&](const Uses::Use& use) { return use.node == node.id; });
  };
  for (const ValueId id : node.inputs)
    forget(id);
  for (const ValueId id : node.captures)
    forget(id);
}

void LiveUses::moved(ValueId from, ValueId to) {
  if (from == to) return;
  grow(std::max(from, to));
  const auto f = static_cast<size_t>(from.index), t = static_cast<size_t>(to.index);
  uses_[t].insert(uses_[t].end(), uses_[f].begin(), uses_[f].end());
  uses_[f].clear();
  output_uses_[t] += std::exchange(output_uses_[f], 0);
}

int LiveUses::remove_dead(Graph& graph, std::vector<ValueId> freed) {
  int removed = 0;
  while (!freed.empty()) {
    const ValueId id = freed.back();
    freed.pop_back();
    const Node* maker = graph.producer(id);
    if (maker == nullptr ||
        !std::all_of(maker->outputs.begin(), maker->outputs.end(),
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
