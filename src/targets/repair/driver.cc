// SPDX-License-Identifier: Apache-2.0
// Applies repairs one by one: each patch, its dead nodes removed, types inferred, the graph
// verified.
#include <algorithm>
#include <memory>

#include "core/format.h"
#include "graph/verify.h"
#include "ops/infer.h"
#include "targets/checks.h"
#include "targets/repair/rule.h"

namespace octet {

const Range* RepairContext::range_of(ValueId value) const {
  const auto found = observed.find(graph.value(value).name);
  return found == observed.end() ? nullptr : &found->second;
}

Status RepairDriver::run(std::span<const RepairRule> rules) {
  graph_.remove_dead();
  for (bool changed = true; changed;) {
    changed = false;
    for (const RepairRule& rule : rules)
      changed = OCTET_TRY(sweep(rule)) || changed;
    if (changed) OCTET_TRY_WITH(infer_types(graph_), "types after the repair");
  }
  return ok_status();
}

Result<bool> RepairDriver::sweep(const RepairRule& rule) {
  bool changed = false;
  auto uses = std::make_unique<Uses>(graph_);
  for (const NodeId id : OCTET_TRY(graph_.topological())) {
    if (!graph_.alive(id)) continue;
    const RepairContext context{graph_,
                                *uses,
                                target_,
                                observed_,
                                options_.weights,
                                options_.scales,
                                options_.attention,
                                options_.zero_points};
    const std::optional<Repair> repair = rule.apply(context, graph_.node(id));
    if (!repair) continue;
    const std::string node = name_of(graph_, graph_.node(id));
    const std::string where = fmt::format("repair {}: node {}", rule.name, graph_.node(id).label());
    OCTET_TRY_WITH(apply(rule, *repair, node), where);
    uses = std::make_unique<Uses>(graph_);
    changed = true;
  }
  return changed;
}

Status RepairDriver::apply(const RepairRule& rule, const Repair& repair, const std::string& node) {
  const std::vector<NodeId> made = OCTET_TRY(repair.patch.apply(graph_));
  graph_.remove_dead();
  for (const NodeId id : made)
    if (graph_.alive(id)) OCTET_TRY(infer_node(graph_, id));
  OCTET_TRY(verify(graph_));
  Change change;
  change.rule = rule.name;
  change.node = node;
  change.why = repair.patch.why();
  change.exact = repair.patch.exactness() == Exactness::kExact;
  change.max_error = repair.max_error;
  changes_.push_back(std::move(change));
  probes_.push_back(repair.probe);
  const auto limit = 20 * std::max<size_t>(graph_.nodes().size(), 10);
  if (changes_.size() > limit)
    return error(ErrorCode::kInternal, "does not converge: {} repairs and no end", limit);
  return ok_status();
}

} // namespace octet
