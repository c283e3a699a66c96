// SPDX-License-Identifier: Apache-2.0
// Hands repairs to the rewrite driver and keeps what they cost. Bodies of If, Loop and Scan are
// repaired as graphs of their own; codes that cross the border of one have readers or makers that
// no rule sees, so that every rule leaves both sides.
#include <algorithm>

#include "core/format.h"
#include "graph/bodies.h"
#include "ops/infer.h"
#include "passes/rewrite.h"
#include "repair/rules.h"
#include "targets/checks.h"

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
TakenNames names_in_bodies(const Graph& graph, const TakenNames* around) {
  TakenNames out;
  out.around = around;
  for_each_body(graph, [&](const Graph& body) {
    for (int32_t i = 0; i < body.value_bound(); ++i)
      if (const Value& v = body.value(ValueId{i}); v.kind != ValueKind::kCapture)
        out.own.insert(v.name);
  });
  return out;
}

} // namespace

const Range* RepairContext::range_of(ValueId value) const {
  const auto found = observed.find(graph.value(value).name);
  return found == observed.end() ? nullptr : &found->second;
}

std::vector<RepairRule> repair_rules(std::span<const Mend> mends) {
  std::vector<RepairRule> out;
  for (const Mend mend : mends)
    out.push_back({name(mend), function_of(mend)});
  return out;
}

Status RepairDriver::run(std::span<const Mend> mends) {
  return run(repair_rules(mends));
}

Status RepairDriver::run(std::span<const RepairRule> rules) {
  limit_ = kChangesPerNode * std::max<size_t>(count_nodes(graph_), 10);
  return graph_and_bodies({graph_, "", nullptr}, rules);
}

Status RepairDriver::graph_and_bodies(const Place& place, std::span<const RepairRule> rules) {
  OCTET_TRY(to_fixed_point(place, rules));
  if (take_codes_out(place)) OCTET_TRY(to_fixed_point(place, rules));
  const auto edit = [&](Graph& inner, const std::string& path, const TakenNames& names) {
    return body({inner, path, &names}, rules);
  };
  const BodyBounds before = body_bounds(place.graph);
  const bool needs_less = OCTET_TRY(edit_bodies(place.graph, place.path, place.around, edit));
  // ONNX Runtime may want copies: separate_constants.
  if (target_.family == TargetFamily::kTensorRt && !before.empty())
    share_constants(place.graph, before, names_in_bodies(place.graph, place.around));
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
  const TakenNames taken = names_in_bodies(place.graph, place.around);
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
                      graph_and_bodies(place, repair_rules(type_repairs())).ok() &&
                      infer_types(place.graph).ok();
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
  const bool is_model = place.path.empty(); // whose outputs have names that others know
  const ObservedRanges none;
  const TakenNames taken = names_in_bodies(graph, place.around);
  std::optional<Repair> found; // by the rule that matched last
  std::vector<BoundRule> bound;
  for (const RepairRule& rule : rules)
    bound.push_back({rule.name, [&, apply = rule.apply](const RuleContext& at, const Node& node) {
                       const RepairContext context{at.graph,
                                                   at.uses,
                                                   target_,
                                                   is_model ? observed_ : none,
                                                   options_.weights,
                                                   options_.scales,
                                                   options_.attention,
                                                   options_.zero_points};
                       found = apply(context, node);
                       return found ? std::optional(found->patch) : std::nullopt;
                     }});
  RewriteOptions options;
  options.types_before = TypesBefore::kAsTheyAre;
  options.dead_constants = DeadConstants::kGo;
  options.name_value = [&](Graph& changed, ValueId value) {
    if (!is_model || !changed.is_output(value)) keep_apart(changed, value, taken);
  };
  options.log = [&](const Step& step) {
    changes_.push_back({.rule = step.rule,
                        .node = place.path + step.node,
                        .why = step.why,
                        .exact = step.exactness == Exactness::kExact,
                        .max_error = found->max_error});
    probes_.push_back(is_model ? std::move(found->probe) : std::nullopt);
  };
  OCTET_TRY_WITH(rewrite(graph, bound, options), "repair");
  if (changes_.size() > limit_)
    return error(ErrorCode::kInternal, "does not converge: {} repairs and no end", limit_);
  return ok_status();
}

} // namespace octet
