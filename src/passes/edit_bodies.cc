// SPDX-License-Identifier: Apache-2.0
//   If {then_branch: captures w, a constant}     edit sees: const w; what is left of it captures w
#include "passes/edit_bodies.h"

#include <memory>
#include <optional>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/infer.h"

namespace octet {
namespace {

/// The edited body as it stands in the node; null where it stays.
Result<GraphPtr> edited(Graph& outer,
                        const Graph& body,
                        const std::string& path,
                        const TakenNames& taken,
                        const EditBody& edit) {
  Graph copy = standing_alone(outer, body);
  if (!OCTET_TRY_WITH(edit(copy, path, taken), fmt::format("body {}", path))) return GraphPtr();
  copy.remove_dead();
  for (int32_t i = 0; i < body.value_bound(); ++i) {
    const Value& was = body.value(ValueId{i});
    if (was.kind == ValueKind::kCapture && copy.value(was.id).is_constant())
      copy.set_captured(was.id, was.captured);
  }
  for (int32_t i = body.value_bound(); i < copy.value_bound(); ++i)
    keep_apart(copy, ValueId{i}, taken);
  for (const auto& [domain, version] : copy.opsets)
    if (outer.opset(domain) == 0) outer.opsets[domain] = version;
  if (body.opsets.empty()) copy.opsets.clear();
  return std::make_shared<const Graph>(std::move(copy));
}

} // namespace

bool drop_unused_captures(Graph& graph, NodeId id) {
  Node& node = graph.mutable_node(id);
  std::set<ValueId> used;
  for (const MutableBody& body : bodies_of(node))
    for (int32_t i = 0; i < body.graph->value_bound(); ++i)
      if (const Value& v = body.graph->value(ValueId{i}); v.kind == ValueKind::kCapture)
        used.insert(v.captured);
  return std::erase_if(node.captures, [&](ValueId v) { return !used.contains(v); }) > 0;
}

bool TakenNames::contains(std::string_view name) const {
  return own.contains(name) || (around != nullptr && around->contains(name));
}

TakenNames names_of(const Graph& graph, const TakenNames* around) {
  TakenNames out;
  out.around = around;
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    out.own.insert(graph.value(ValueId{i}).name);
  return out;
}

void keep_apart(Graph& graph, ValueId id, const TakenNames& taken) {
  const std::string name = graph.value(id).name;
  std::string free = name;
  for (int k = 1; taken.contains(free) || (free != name && graph.find_value(free)); ++k)
    free = fmt::format("{}_inner{}", name, k);
  if (free != name) graph.rename(id, free);
}

Result<bool>
edit_bodies(Graph& graph, const std::string& path, const TakenNames* around, const EditBody& edit) {
  std::optional<TakenNames> taken;
  bool needs_less = false;
  for (const NodeId id : graph.nodes()) {
    if (!has_bodies(graph.node(id))) continue;
    if (!taken) taken = names_of(graph, around);
    const std::string name = name_of(graph, graph.node(id));
    bool any = false;
    for (const auto& [key, body] : bodies_of(graph.mutable_node(id))) {
      const std::string inside = fmt::format("{}{}/{}/", path, name, key);
      GraphPtr changed = OCTET_TRY(edited(graph, *body, inside, *taken, edit));
      if (changed == nullptr) continue;
      body = std::move(changed);
      any = true;
    }
    needs_less = (any && drop_unused_captures(graph, id)) || needs_less;
  }
  return needs_less;
}

} // namespace octet
