// SPDX-License-Identifier: Apache-2.0
#include "graph/live_uses.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "graph/bodies.h"

namespace octet {
namespace {

constexpr size_t kGap = SIZE_MAX; ///< in place of an input

} // namespace

void LiveUses::Users::add(const Uses::Use& use) {
  sorted = sorted && (uses.empty() || uses.back().node <= use.node);
  uses.push_back(use);
}

void LiveUses::Users::remove(NodeId node) {
  auto at = uses.begin(), end = uses.end();
  if (sorted)
    std::tie(at, end) =
        std::equal_range(at, end, Uses::Use{node, 0},
                         [](const Uses::Use& a, const Uses::Use& b) { return a.node < b.node; });
  for (; at != end; ++at) {
    if (at->node != node || at->input == kGap) continue;
    at->input = kGap;
    ++gaps;
  }
}

void LiveUses::Users::close_gaps() {
  if (gaps == 0) return;
  std::erase_if(uses, [](const Uses::Use& use) { return use.input == kGap; });
  gaps = 0;
}

LiveUses::LiveUses(const Graph& graph) : users_(static_cast<size_t>(graph.value_bound())) {
  for (const NodeId id : graph.nodes())
    add(graph.node(id));
  for (const ValueId out : graph.outputs())
    ++users_[static_cast<size_t>(out.index)].outputs;
}

std::span<const Uses::Use> LiveUses::of(ValueId id) const {
  if (!knows(id)) return {};
  Users& users = users_[static_cast<size_t>(id.index)];
  users.close_gaps();
  return users.uses;
}

int LiveUses::count(ValueId id) const {
  return knows(id) ? users_[static_cast<size_t>(id.index)].count() : 0;
}

NodeId LiveUses::single_consumer(ValueId id) const {
  return count(id) == 1 && of(id).size() == 1 ? of(id).front().node : NodeId{};
}

void LiveUses::grow(ValueId id) {
  const auto size = static_cast<size_t>(id.index) + 1;
  if (users_.size() < size) users_.resize(size);
}

void LiveUses::add(const Node& node) {
  const auto use = [&](ValueId id, size_t input) {
    if (!id.valid()) return;
    grow(id);
    users_[static_cast<size_t>(id.index)].add({node.id, input});
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    use(node.inputs[i], i);
  for (size_t k = 0; k < node.captures.size(); ++k)
    use(node.captures[k], node.inputs.size() + k);
}

void LiveUses::remove(const Node& node) {
  const auto forget = [&](ValueId id) {
    if (knows(id)) users_[static_cast<size_t>(id.index)].remove(node.id);
  };
  for (const ValueId id : node.inputs)
    forget(id);
  for (const ValueId id : node.captures)
    forget(id);
}

void LiveUses::replace(Graph& graph, ValueId from, ValueId to) {
  if (from == to) return;
  grow(std::max(from, to));
  Users& before = users_[static_cast<size_t>(from.index)];
  Users& after = users_[static_cast<size_t>(to.index)];
  before.close_gaps();
  for (const Uses::Use& use : before.uses) {
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
