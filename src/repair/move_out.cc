// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ If {then_branch: captures codes ─▶ DQ ─▶ Conv}
//   =>   x ─▶ Q ─▶ DQ ─▶ If {then_branch: captures values ─▶ Conv}
// Codes that only DQ reads in a body: Q and DQ then stand on one side, where other repairs take
// them. Exact.
#include <memory>

#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

namespace {

/// The DQ of captured codes in a body; nullopt where something else reads or names them.
std::optional<std::vector<NodeId>>
dequantizers_in(const Graph& outer, const Graph& body, ValueId codes, const qdq::Grid& grid) {
  const Graph alone = standing_alone(outer, body);
  const Uses uses(body);
  std::vector<NodeId> out;
  for (int32_t i = 0; i < body.value_bound(); ++i) {
    const Value& value = body.value(ValueId{i});
    if (value.kind != ValueKind::kCapture || value.captured != codes) continue;
    if (body.is_output(value.id)) return std::nullopt;
    for (const Uses::Use& use : uses.of(value.id)) {
      const Node& reader = alone.node(use.node);
      if (!is_dequantize(reader) || use.input != 0) return std::nullopt;
      const auto theirs = qdq::grid_of(alone, reader);
      if (!theirs || !qdq::same(*theirs, grid, qdq::Same::kNumbers)) return std::nullopt;
      out.push_back(use.node);
    }
  }
  return out;
}

/// All bodies of a node in which DQ reads `codes`, to capture `values` instead.
bool move_out(Graph& graph, NodeId id, ValueId codes, const qdq::Grid& grid, const Node& quantize) {
  std::vector<std::vector<NodeId>> readers;
  size_t count = 0;
  for (const Body& body : bodies_of(graph.node(id))) {
    auto found = dequantizers_in(graph, *body.graph, codes, grid);
    if (!found) return false;
    count += found->size();
    readers.push_back(std::move(*found));
  }
  if (count == 0) return false;
  Patch patch(graph, "", Exactness::kExact);
  patch.from(quantize);
  const ValueId values =
      qdq::emit_dequantize(patch, grid, codes, name_of(graph, quantize) + "_dequantized");
  const auto made = patch.apply(graph);
  if (!made.ok() || !infer_node(graph, made->front()).ok()) return false;
  const std::vector<MutableBody> bodies = bodies_of(graph.mutable_node(id));
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (readers[i].empty()) continue;
    auto changed = std::make_shared<Graph>(*bodies[i].graph);
    const Value& outer = graph.value(values);
    const ValueId inside = changed->add_capture(outer.name, values, outer.type);
    for (const NodeId reader : readers[i]) {
      const ValueId old = changed->node(reader).output(0);
      // A body does not hand out what it captures.
      const bool handed_out = changed->is_output(old);
      const std::string name = changed->value(old).name + "_handed_out";
      changed->replace_uses(old,
                            handed_out ? changed->emit("Identity", {inside}, {}, name) : inside);
    }
    changed->remove_dead();
    bodies[i].graph = std::move(changed);
  }
  graph.mutable_node(id).captures.push_back(values);
  drop_unused_captures(graph, id);
  return true;
}

} // namespace

std::vector<Change> move_dequantizers_out(Graph& graph, NodeId id) {
  std::vector<Change> out;
  const std::vector<ValueId> captures = graph.node(id).captures;
  for (const ValueId codes : captures) {
    const Node* quantize = graph.producer(codes);
    if (quantize == nullptr || !is_quantize(*quantize)) continue;
    const auto grid = qdq::grid_of(graph, *quantize);
    if (!grid || !grid->code_range() || grid->is_symmetric()) continue;
    const std::string name = name_of(graph, *quantize);
    const Node copy = *quantize;
    if (!move_out(graph, id, codes, *grid, copy)) continue;
    Change change;
    change.rule = "move_dequantizers_out";
    change.node = name;
    change.why = "codes that a body reads are dequantized before it";
    out.push_back(std::move(change));
  }
  return out;
}

} // namespace octet
