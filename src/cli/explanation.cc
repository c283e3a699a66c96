// SPDX-License-Identifier: Apache-2.0
#include "cli/explanation.h"

#include "cli/models.h"
#include "core/format.h"
#include "core/json.h"
#include "report/table.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

nlohmann::ordered_json changes_json(const std::vector<LayerChange>& changes) {
  auto out = nlohmann::ordered_json::array();
  for (const LayerChange& c : changes)
    out.push_back(
        {{"node", c.node}, {"op", c.op}, {"before", c.before}, {"after", c.after}, {"why", c.why}});
  return out;
}

} // namespace

Result<Explanation> explanation(const Graph& graph, const std::string& target) {
  Explanation out{target, OCTET_TRY(explain(graph, target)), 0};
  for (const Finding& finding : OCTET_TRY(check(graph, target)))
    if (finding.severity == Severity::kError) ++out.errors;
  return out;
}

std::string share_text(const Explanation& one, LayerPrecision precision) {
  return one.errors > 0 ? "-" : fmt::format("{:.1f} %", 100 * share_in(one.layers, precision));
}

std::string shares_text(const Explanation& one) {
  std::string out = share_text(one, LayerPrecision::kInt8) + " of the multiply-adds in int8";
  for (const LayerPrecision precision : kOtherCodes)
    if (one.errors == 0 && share_in(one.layers, precision) > 0)
      out += fmt::format(", {} in {}", share_text(one, precision), name(precision));
  return out;
}

void print_refusal(const Explanation& one) {
  if (one.errors > 0)
    fmt::print("refused by {}: {} error{}, see octet check\n", one.target, one.errors,
               one.errors == 1 ? "" : "s");
}

Result<Answer> show_changes(const std::string& before,
                            const std::string& after,
                            const std::string& target,
                            const Common& common) {
  const Graph first = OCTET_TRY(open_model(before)), second = OCTET_TRY(open_model(after));
  const Explanation old = OCTET_TRY_WITH(explanation(first, target), before);
  const Explanation now = OCTET_TRY_WITH(explanation(second, target), after);
  const std::vector<LayerChange> changes = diff(old.layers, now.layers);
  if (common.json) {
    fmt::print("{}\n", json_text(changes_json(changes)));
    return Answer::kDone;
  }
  Table table({"node", "operator", "before", "after", "why"});
  for (const LayerChange& c : changes)
    table.add(
        {c.node, c.op, c.before.empty() ? "-" : c.before, c.after.empty() ? "-" : c.after, c.why});
  fmt::print("{} and {} on {}\n{}", before, after, target,
             changes.empty() ? "every layer runs alike\n" : table.text());
  fmt::print("multiply-adds in int8: {} and {}\n", share_text(old, LayerPrecision::kInt8),
             share_text(now, LayerPrecision::kInt8));
  for (const auto& [file, one] : {std::pair(&before, &old), std::pair(&after, &now)})
    if (one->errors > 0) {
      fmt::print("{} is ", *file);
      print_refusal(*one);
    }
  return Answer::kDone;
}

} // namespace octet::cli
