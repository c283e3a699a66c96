// SPDX-License-Identifier: Apache-2.0
// Applies repairs one by one: each patch, its dead nodes removed, types inferred, the graph
// verified. Bodies of If, Loop and Scan are repaired as graphs of their own; codes that cross the
// border of one have readers or makers that no rule sees, so that every rule leaves both sides.
#include <algorithm>
#include <memory>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/verify.h"
#include "ops/infer.h"
#include "targets/checks.h"
#include "targets/repair/rule.h"

namespace octet {

namespace {

constexpr size_t kChangesPerNode = 20;

void for_each_body(const Graph& graph, const std::function<void(const Graph&)>& visit) {
  for (const NodeId id : graph.nodes())
    for (const Body& body : bodies_of(graph.node(id))) {
      visit(*body.graph);
      for_each_body(*body.graph, visit);
    }
}

size_t count_nodes(const Graph& graph) {
  size_t count = graph.nodes().size();
  for_each_body(graph, [&](const Graph& body) { count += body.nodes().size(); });
  return count;
}

/// What a new value must not be called: what one of the graphs around is, or one of those within.
NameSet names_in_bodies(const Graph& graph, NameSet names) {
  for_each_body(graph, [&](const Graph& body) {
    for (int32_t i = 0; i < body.value_bound(); ++i)
      if (const Value& v = body.value(ValueId{i}); v.kind != ValueKind::kCapture)
        names.insert(v.name);
  });
  return names;
}

} // namespace

const Range* RepairContext::range_of(ValueId value) const {
  const auto found = observed.find(graph.value(value).name);
  return found == observed.end() ? nullptr : &found->second;
}

Status RepairDriver::run(std::span<const RepairRule> rules) {
  limit_ = kChangesPerNode * std::max<size_t>(count_nodes(graph_), 10);
  return graph_and_bodies({graph_, "", {}}, rules);
}

Status RepairDriver::graph_and_bodies(const Place& place, std::span<const RepairRule> rules) {
  OCTET_TRY(to_fixed_point(place, rules));
  if (take_codes_out(place)) OCTET_TRY(to_fixed_point(place, rules));
  const auto edit = [&](Graph& inner, const std::string& path, const NameSet& names) {
    return body({inner, path, names}, rules);
  };
  const BodyBounds before = body_bounds(place.graph);
  bool needs_less = false;
  for (const NodeId id : place.graph.nodes())
    needs_less =
        OCTET_TRY(edit_bodies(place.graph, id, place.path, place.outer_names, edit)) || needs_less;
  // ONNX Runtime may want copies: separate_constants.
  if (target_.family == TargetFamily::kTensorRt && !before.empty())
    share_constants(place.graph, before, names_in_bodies(place.graph, place.outer_names));
  return needs_less ? to_fixed_point(place, rules) : ok_status();
}

/// Whether anything changed.
bool RepairDriver::take_codes_out(const Place& place) {
  if (target_.family != TargetFamily::kTensorRt) return false;
  const size_t before = changes_.size();
  const int32_t first_new = place.graph.value_bound();
  for (const NodeId id : place.graph.nodes())
    for (Change& change : move_dequantizers_out(place.graph, id)) {
      change.node = place.path + change.node;
      changes_.push_back(std::move(change));
      probes_.emplace_back();
    }
  const NameSet taken = names_in_bodies(place.graph, place.outer_names);
  for (int32_t i = first_new; i < place.graph.value_bound(); ++i)
    keep_apart(place.graph, ValueId{i}, taken);
  return changes_.size() > before;
}

/// Whether anything was repaired.
Result<bool> RepairDriver::body(const Place& place, std::span<const RepairRule> rules) {
  const size_t before = changes_.size();
  const Graph as_it_came = place.graph;
  if (!infer_types(place.graph).ok()) {
    place.graph = as_it_came;
    const bool fits = target_.family != TargetFamily::kOctet &&
                      graph_and_bodies(place, type_repairs()).ok() && infer_types(place.graph).ok();
    if (!fits) {
      changes_.erase(changes_.begin() + static_cast<std::ptrdiff_t>(before), changes_.end());
      probes_.resize(before);
      return false;
    }
  }
  OCTET_TRY(graph_and_bodies(place, rules));
  return changes_.size() > before;
}

Status RepairDriver::to_fixed_point(const Place& place, std::span<const RepairRule> rules) {
  Graph& graph = place.graph;
  graph.remove_dead();
  const NameSet taken = names_in_bodies(graph, place.outer_names);
  for (bool changed = true; changed;) {
    changed = false;
    for (const RepairRule& rule : rules)
      changed = OCTET_TRY(sweep(place, taken, rule)) || changed;
    if (changed) OCTET_TRY_WITH(infer_types(graph), "types after the repair");
  }
  return ok_status();
}

Result<bool> RepairDriver::sweep(const Place& place, const NameSet& taken, const RepairRule& rule) {
  static const ObservedRanges kNoRanges;
  Graph& graph = place.graph;
  bool changed = false;
  auto uses = std::make_unique<Uses>(graph);
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    if (!graph.alive(id)) continue;
    const RepairContext context{graph,
                                *uses,
                                target_,
                                place.path.empty() ? observed_ : kNoRanges,
                                options_.weights,
                                options_.scales,
                                options_.attention,
                                options_.zero_points};
    const std::optional<Repair> repair = rule.apply(context, graph.node(id));
    if (!repair) continue;
    const std::string node = name_of(graph, graph.node(id));
    const std::string where =
        fmt::format("repair {}: node {}", rule.name, full_label(graph, graph.node(id)));
    OCTET_TRY_WITH(apply(place, taken, rule, *repair, node), where);
    uses = std::make_unique<Uses>(graph);
    changed = true;
  }
  return changed;
}

Status RepairDriver::apply(const Place& place,
                           const NameSet& taken,
                           const RepairRule& rule,
                           const Repair& repair,
                           const std::string& node) {
  Graph& graph = place.graph;
  const int32_t first_new = graph.value_bound();
  const std::vector<NodeId> made = OCTET_TRY(repair.patch.apply(graph));
  const bool is_model = place.path.empty(); // whose outputs have names that others know
  for (int32_t i = first_new; i < graph.value_bound(); ++i)
    if (!is_model || !graph.is_output(ValueId{i})) keep_apart(graph, ValueId{i}, taken);
  graph.remove_dead();
  for (const NodeId id : made)
    if (graph.alive(id)) OCTET_TRY(infer_node(graph, id));
  OCTET_TRY(verify(graph));
  Change change;
  change.rule = rule.name;
  change.node = place.path + node;
  change.why = repair.patch.why();
  change.exact = repair.patch.exactness() == Exactness::kExact;
  change.max_error = repair.max_error;
  changes_.push_back(std::move(change));
  probes_.push_back(is_model ? repair.probe : std::nullopt);
  if (changes_.size() > limit_)
    return error(ErrorCode::kInternal, "does not converge: {} repairs and no end", limit_);
  return ok_status();
}

} // namespace octet
