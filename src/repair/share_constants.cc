// SPDX-License-Identifier: Apache-2.0
//   If {then_branch: w' ─▶ DQ ─▶ f, else_branch: w' ─▶ DQ ─▶ g}
//   =>   w', If {then_branch: captures w' ─▶ DQ ─▶ f, else_branch: captures w' ─▶ DQ ─▶ g}
// Weights that several bodies captured and that repair rewrote in each of them: the file keeps one.
// Exact.
#include <algorithm>
#include <memory>

#include "graph/bodies.h"
#include "repair/rule.h"

namespace octet {

namespace {

/// A smaller constant is not worth a capture.
constexpr size_t kSharedBytes = 1024;

struct BodyConstant {
  NodeId node;
  size_t body;
  ValueId id;
};

/// Equal constants, at most one of a body.
struct EqualConstants {
  Tensor tensor;
  ValueId outer; ///< the same around the bodies; may be invalid
  std::string name;
  std::vector<BodyConstant> copies;
};

bool has_same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

void add(std::vector<EqualConstants>& groups, const Value& value, const BodyConstant& copy) {
  if (value.constant.bytes().size() < kSharedBytes) return;
  const auto group = std::find_if(groups.begin(), groups.end(), [&](const EqualConstants& g) {
    return has_same_bytes(g.tensor, value.constant);
  });
  if (group == groups.end()) {
    groups.push_back({value.constant, ValueId{}, value.name, {copy}});
    return;
  }
  const BodyConstant& last = group->copies.back();
  if (last.node != copy.node || last.body != copy.body) group->copies.push_back(copy);
}

std::vector<EqualConstants> new_constants(const Graph& graph, const BodyBounds& before) {
  std::vector<EqualConstants> groups;
  for (const auto& [node, bounds] : before) {
    const std::vector<Body> bodies = bodies_of(graph.node(node));
    for (size_t i = 0; i < bodies.size(); ++i)
      for (const ValueId id : bodies[i].graph->constants())
        if (id.index >= bounds[i] && !bodies[i].graph->is_output(id)) // no body hands out a capture
          add(groups, bodies[i].graph->value(id), {node, i, id});
  }
  for (EqualConstants& group : groups)
    for (const ValueId id : graph.constants())
      if (has_same_bytes(graph.value(id).constant, group.tensor)) group.outer = id;
  return groups;
}

void capture(Graph& graph, const BodyConstant& copy, ValueId outer) {
  Node& node = graph.mutable_node(copy.node);
  GraphPtr& body = bodies_of(node)[copy.body].graph;
  auto changed = std::make_shared<Graph>(*body);
  for (int32_t i = 0; i < changed->value_bound(); ++i)
    if (const Value& v = changed->value(ValueId{i});
        v.kind == ValueKind::kCapture && v.captured == outer) {
      changed->replace_uses(copy.id, v.id);
      changed->remove_dead();
      body = std::move(changed);
      return;
    }
  changed->set_captured(copy.id, outer);
  changed->rename(copy.id, graph.value(outer).name);
  body = std::move(changed);
  if (std::find(node.captures.begin(), node.captures.end(), outer) == node.captures.end())
    node.captures.push_back(outer);
}

} // namespace

BodyBounds body_bounds(const Graph& graph) {
  BodyBounds out;
  for (const NodeId id : graph.nodes())
    for (const Body& body : bodies_of(graph.node(id)))
      out[id].push_back(body.graph->value_bound());
  return out;
}

void share_constants(Graph& graph, const BodyBounds& before, const TakenNames& taken) {
  for (EqualConstants& group : new_constants(graph, before)) {
    if (!group.outer.valid() && group.copies.size() < 2) continue;
    if (!group.outer.valid()) {
      group.outer = graph.add_constant(group.name + "_shared", group.tensor);
      keep_apart(graph, group.outer, taken);
    }
    for (const BodyConstant& copy : group.copies)
      capture(graph, copy, group.outer);
  }
}

} // namespace octet
