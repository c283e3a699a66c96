// SPDX-License-Identifier: Apache-2.0
#include "graph/bodies.h"

#include <algorithm>

namespace octet {

namespace {

template <class B, class N>
std::vector<B> collect(N& node) {
  std::vector<B> out;
  for (auto& [key, attribute] : node.attributes) {
    if (auto* one = std::get_if<GraphPtr>(&attribute.value)) out.push_back({key, *one});
    if (auto* many = std::get_if<std::vector<GraphPtr>>(&attribute.value))
      for (auto& graph : *many)
        out.push_back({key, graph});
  }
  return out;
}

} // namespace

std::vector<Body> bodies_of(const Node& node) {
  return collect<Body>(node);
}

std::vector<MutableBody> bodies_of(Node& node) {
  return collect<MutableBody>(node);
}

bool has_bodies(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& item) {
    const auto& value = item.second.value;
    return std::holds_alternative<GraphPtr>(value) ||
           std::holds_alternative<std::vector<GraphPtr>>(value);
  });
}

void recapture(Node& node, const std::map<ValueId, ValueId>& to) {
  for (ValueId& captured : node.captures)
    if (const auto found = to.find(captured); found != to.end()) captured = found->second;
  for (const MutableBody& body : bodies_of(node)) {
    auto copy = std::make_shared<Graph>(*body.graph);
    for (int32_t i = 0; i < copy->value_bound(); ++i) {
      const Value& v = copy->value(ValueId{i});
      if (v.kind != ValueKind::kCapture) continue;
      if (const auto found = to.find(v.captured); found != to.end())
        copy->set_captured(v.id, found->second);
    }
    body.graph = std::move(copy);
  }
}

void replace_uses(Node& node, ValueId from, ValueId to) {
  std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  if (std::find(node.captures.begin(), node.captures.end(), from) != node.captures.end())
    recapture(node, {{from, to}});
}

} // namespace octet
