// SPDX-License-Identifier: Apache-2.0
//   If(constant true) {then: a, b ─▶ y}      =>      a, b ─▶ y
// Exact.
#include <map>
#include <utility>

#include "graph/bodies.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

const Graph* taken_branch(const RuleContext& context, const Node& node) {
  const auto condition = known_ints(context, node.input(0));
  if (!condition || condition->size() != 1) return nullptr;
  const Attribute* branch = node.attr((*condition)[0] != 0 ? "then_branch" : "else_branch");
  const auto* body = branch != nullptr ? std::get_if<GraphPtr>(&branch->value) : nullptr;
  return body != nullptr ? body->get() : nullptr;
}

using Moved = std::map<ValueId, ValueId>;

/// What its bodies capture of the branch is captured of where the branch goes.
Attributes recaptured(Node node, const Moved& moved) {
  for (const MutableBody& held : bodies_of(node)) {
    auto body = std::make_shared<Graph>(*held.graph);
    for (int32_t i = 0; i < body->value_bound(); ++i)
      if (const Value& v = body->value(ValueId{i}); v.kind == ValueKind::kCapture)
        body->set_captured(v.id, moved.at(v.captured));
    held.graph = std::move(body);
  }
  return std::move(node.attributes);
}

} // namespace

std::optional<Patch> fold_if(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("If")) return std::nullopt;
  const Graph* body = taken_branch(context, node);
  if (body == nullptr || body->outputs().size() != node.outputs.size()) return std::nullopt;
  const auto order = body->topological();
  if (!order.ok()) return std::nullopt;
  Patch patch(g, "the condition is constant", Exactness::kExact);
  patch.from(node);
  Moved map;
  for (int32_t i = 0; i < body->value_bound(); ++i) {
    const Value& v = body->value(ValueId{i});
    if (v.kind == ValueKind::kCapture) map[v.id] = v.captured;
    if (v.is_constant()) map[v.id] = patch.constant(v.name, v.constant);
  }
  for (const NodeId id : *order) {
    const Node& n = body->node(id);
    std::vector<ValueId> inputs, captures;
    for (const ValueId in : n.inputs)
      inputs.push_back(in.valid() ? map.at(in) : in);
    for (const ValueId captured : n.captures)
      captures.push_back(map.at(captured));
    const std::string name = n.name.empty() ? "" : node.name + "/" + n.name;
    const ValueId first = patch.emit(n.op_type, std::move(inputs), recaptured(n, map), name,
                                     n.domain, static_cast<int>(n.outputs.size()));
    if (!captures.empty()) patch.capture(first, std::move(captures));
    for (size_t k = 0; k < n.outputs.size(); ++k)
      if (n.outputs[k].valid()) map[n.outputs[k]] = patch.output(first, static_cast<int>(k));
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    const ValueId inner = map.at(body->outputs()[k]);
    const Value& result = body->value(body->outputs()[k]);
    const bool made_here = result.kind == ValueKind::kNodeOutput;
    if (g.is_output(node.outputs[k]) && !made_here) return std::nullopt;
    for (size_t other = 0; other < k; ++other)
      if (body->outputs()[other] == body->outputs()[k]) return std::nullopt;
    patch.replace(node.outputs[k], inner);
  }
  return patch;
}

} // namespace octet
