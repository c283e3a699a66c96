// SPDX-License-Identifier: Apache-2.0
//   If(constant true) {then: a, b ─▶ y}      =>      a, b ─▶ y
// Exact.
#include <map>

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
  std::map<ValueId, ValueId> map;
  for (int32_t i = 0; i < body->value_bound(); ++i) {
    const Value& v = body->value(ValueId{i});
    if (v.kind == ValueKind::kCapture) map[v.id] = v.captured;
    if (v.is_constant()) map[v.id] = patch.constant(v.name, v.constant);
  }
  for (const NodeId id : *order) {
    Node n = body->node(id);
    for (ValueId& in : n.inputs)
      if (in.valid()) in = map.at(in);
    recapture(n, map);
    const std::string name = n.name.empty() ? "" : node.name + "/" + n.name;
    const ValueId first = patch.emit(n.op_type, n.inputs, n.attributes, name, n.domain,
                                     static_cast<int>(n.outputs.size()));
    if (!n.captures.empty()) patch.capture(first, n.captures);
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
