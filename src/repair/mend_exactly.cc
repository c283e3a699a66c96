// SPDX-License-Identifier: Apache-2.0
// The exact changes that the errors of check ask for, and the warnings that octet's own files are to
// be without: what a graph goes through that was written for a target, where the rules of its runtime
// depend on what stands around a layer.
#include <algorithm>
#include <set>

#include "repair/rules.h"
#include "targets/rule.h"

#include "octet/repair.h"

namespace octet {

namespace {

/// Of the rules that found something, in the order in which repair tries them.
std::vector<Mend> asked_for(const std::vector<Finding>& findings, const TargetDef& target) {
  std::set<Mend> wanted;
  for (const Finding& finding : findings) {
    for (const TargetRule* rule : rules_of(target.family))
      if (rule->id == finding.rule && rule->holds(target) &&
          (finding.severity == Severity::kError || rule->kept_out))
        wanted.insert(rule->mends.begin(), rule->mends.end());
  }
  std::vector<Mend> out;
  for (const Mend mend : form_repairs(target.family))
    if (wanted.contains(mend)) out.push_back(mend);
  return out;
}

} // namespace

Result<Repaired> mend_exactly(const Graph& graph, std::string_view target) {
  const auto def = OCTET_TRY_WITH(find_target(target), "mend");
  Repaired came{graph, {}, OCTET_TRY(check(graph, target)), {}};
  if (asked_for(came.left, *def).empty()) return came;
  Repaired out = came;
  RepairDriver driver(out.graph, *def, RepairOptions{});
  for (size_t before = 0, first = 1; first == 1 || driver.changes().size() > before; first = 0) {
    const std::vector<Mend> mends = asked_for(out.left, *def);
    before = driver.changes().size();
    OCTET_TRY(driver.run(mends));
    out.left = OCTET_TRY(check(out.graph, target));
  }
  out.changes = driver.changes();
  const bool exact = std::all_of(out.changes.begin(), out.changes.end(),
                                 [](const Change& change) { return change.exact; });
  return exact ? std::move(out) : std::move(came);
}

} // namespace octet
