// SPDX-License-Identifier: Apache-2.0
// The lists of rules: each rule is broken by a file, each repair that a rule names mends a file
// that the rule finds, and the documentation has all of them.
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "ops/infer.h"
#include "repair/rule.h"
#include "support/paths.h"
#include "targets/bad_files.h"
#include "targets/findings.h"
#include "targets/rule.h"
#include "targets/rule_files.h"
#include <gtest/gtest.h>

#include "octet/repair.h"

namespace octet {
namespace {

constexpr TargetFamily kFamilies[] = {TargetFamily::kTensorRt, TargetFamily::kOnnxRuntime,
                                      TargetFamily::kOctet};

std::vector<Mend> mends_of(const TargetRule& rule) {
  std::vector<Mend> out;
  for (const Mend mend : rule.mends)
    if (mend != Mend::kNone) out.push_back(mend);
  return out;
}

bool repairs_with(TargetFamily family, Mend mend) {
  for (const auto list : {form_repairs(family), number_repairs(family)})
    if (std::find(list.begin(), list.end(), mend) != list.end()) return true;
  return false;
}

std::string text_of_version(int version) {
  return std::to_string(version / 100) + "." + std::to_string(version % 100);
}

/// What one rule finds in a graph, apart from all others.
size_t found_by(const TargetRule& rule, const Graph& graph, const TargetDef& target) {
  if (!rule.holds(target)) return 0;
  Graph typed = graph;
  (void)infer_types(typed).ok(); // a file may be refused for its types
  const Uses uses(typed);
  const std::vector<Disagreement> declared = disagreements(graph);
  const CheckContext context{typed, uses, target, declared};
  const BodyPath path;
  std::vector<PlacedFinding> findings;
  Found found(context, rule, path, findings);
  if (const auto* of_model = std::get_if<FindInModel*>(&rule.find)) {
    (*of_model)(context, found);
    return findings.size();
  }
  for (const NodeId id : typed.nodes())
    std::get<FindInNode*>(rule.find)(context, typed.node(id), found);
  return findings.size();
}

struct Broken {
  std::string name, target;
  Graph graph;
  RepairOptions options;
  bool mended = true;
};

std::function<CalibrationSource()> two_rows() {
  return [] {
    auto next = std::make_shared<bool>(true);
    return [next]() -> Result<std::optional<std::vector<Tensor>>> {
      if (!std::exchange(*next, false)) return std::optional<std::vector<Tensor>>();
      return std::optional(
          std::vector<Tensor>{Tensor::of<float>({2, 4}, {0, 1.5F, -2, 3, -4.25F, 5, 6, -7})});
    };
  };
}

/// The rules of its family, then those of a target of the user's own.
std::vector<const TargetRule*> rules_for(const TargetDef& target) {
  const RuleList family = rules_of(target.family), own = custom_rules();
  std::vector<const TargetRule*> out(family.begin(), family.end());
  if (target.custom != nullptr) out.insert(out.end(), own.begin(), own.end());
  return out;
}

/// Every file that a rule or a repair is tested with.
std::vector<Broken> broken_files() {
  std::vector<Broken> out;
  for (const test::BadFile& file : test::bad_files()) {
    RepairOptions options;
    options.zero_points = file.zero_points;
    if (file.needs_data) options.data = two_rows();
    out.push_back({file.name, file.target, test::parse_bad_file(file), options});
  }
  for (const test::RuleFile& file : test::rule_files())
    out.push_back({std::string(file.rule) + " for " + file.target,
                   test::target_of(file),
                   test::parse_rule_file(file),
                   {},
                   file.mended});
  return out;
}

TEST(RuleList, HasNoRuleThatSaysTooLittle) {
  std::set<const TargetRule*> seen;
  for (const TargetFamily family : kFamilies)
    for (const TargetRule* rule : rules_of(family)) {
      SCOPED_TRACE(rule->id);
      EXPECT_FALSE(rule->id.empty());
      EXPECT_FALSE(rule->clause.empty());
      EXPECT_TRUE(rule->versions.until == 0 || rule->versions.since <= rule->versions.until);
      EXPECT_TRUE(rule->provider == Provider::kAny || family == TargetFamily::kOnnxRuntime);
      const auto of_family = rules_of(family);
      EXPECT_EQ(std::count(of_family.begin(), of_family.end(), rule), 1);
      const auto all = all_targets();
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const TargetDef* target) {
        return target->family == family && rule->holds(*target);
      })) << "it holds for no target";
    }
}

TEST(RuleList, MendsAreRepairsOfTheFamily) {
  for (const TargetFamily family : kFamilies)
    for (const TargetRule* rule : rules_of(family))
      for (const Mend mend : mends_of(*rule))
        EXPECT_TRUE(repairs_with(family, mend)) << name(mend) << " for " << rule->id;
}

TEST(RuleList, EveryRuleIsBrokenByAFile) {
  std::set<const TargetRule*> broken;
  for (const Broken& file : broken_files()) {
    const auto target = find_target(file.target).value();
    for (const TargetRule* rule : rules_for(*target))
      if (found_by(*rule, file.graph, *target) > 0) broken.insert(rule);
  }
  for (const TargetFamily family : kFamilies)
    for (const TargetRule* rule : rules_of(family))
      EXPECT_TRUE(broken.contains(rule)) << rule->id << ", " << rule->clause;
  for (const TargetRule* rule : custom_rules())
    EXPECT_TRUE(broken.contains(rule)) << rule->id << " of a target of one's own";
}

/// Where a rule has a mend, what it finds is gone after repair, or is said to be left; and each
/// mend that it names takes it away in a file at least.
TEST(RuleList, MendsTakeAwayWhatTheRuleFinds) {
  std::map<const TargetRule*, std::set<std::string>> mended;
  for (const Broken& file : broken_files()) {
    const auto target = find_target(file.target).value();
    std::vector<const TargetRule*> found;
    for (const TargetRule* rule : rules_for(*target))
      if (found_by(*rule, file.graph, *target) > 0) found.push_back(rule);
    const auto repaired = repair(file.graph, file.target, file.options);
    for (const TargetRule* rule : found) {
      if (mends_of(*rule).empty() && rule->lowered_by.empty()) continue;
      SCOPED_TRACE(file.name + ": " + std::string(rule->id));
      const bool gone = repaired.ok() && found_by(*rule, repaired->graph, *target) == 0;
      EXPECT_EQ(gone, file.mended);
      if (!gone && repaired.ok()) {
        EXPECT_TRUE(test::has_rule(repaired->left, rule->id));
      }
      if (!gone) continue;
      for (const Change& change : repaired->changes)
        mended[rule].insert(change.rule);
    }
  }
  for (const TargetFamily family : kFamilies)
    for (const TargetRule* rule : rules_of(family))
      for (const Mend mend : mends_of(*rule))
        EXPECT_TRUE(mended[rule].contains(std::string(name(mend))))
            << name(mend) << " for " << rule->id;
  for (const auto& [rule, changes] : mended) {
    if (rule->lowered_by.empty()) continue;
    EXPECT_TRUE(changes.contains(std::string(rule->lowered_by))) << rule->id;
  }
}

std::string name_of_family(TargetFamily family, Provider provider) {
  switch (family) {
  case TargetFamily::kTensorRt:
    return "TensorRT";
  case TargetFamily::kOnnxRuntime:
    return provider == Provider::kCpu    ? "ONNX Runtime, CPU"
           : provider == Provider::kCuda ? "ONNX Runtime, CUDA"
                                         : "ONNX Runtime";
  case TargetFamily::kOctet:
    break;
  }
  return "octet";
}

std::string text_of(const Versions& versions) {
  if (versions.since == 0 && versions.until == 0) return "all";
  if (versions.until == 0) return text_of_version(versions.since) + " on";
  // The last version of a series is not known.
  const std::string until =
      "before " + (versions.until % 100 == 99 ? std::to_string(versions.until / 100 + 1)
                                              : text_of_version(versions.until + 1));
  return versions.since == 0 ? until : text_of_version(versions.since) + ", " + until;
}

std::string text_of_severity(const TargetRule& rule) {
  if (rule.severity == Severity::kWarning) return "warning";
  return rule.measured == 0 ? "error" : "error; warning before " + text_of_version(rule.measured);
}

std::string text_of_mends(const TargetRule& rule) {
  std::string out = rule.lowered_by.empty() ? "" : "`" + std::string(rule.lowered_by) + "`";
  for (const Mend mend : mends_of(rule))
    out += (out.empty() ? "`" : ", `") + std::string(name(mend)) + "`";
  return out.empty() ? "-" : out;
}

std::string table_of_rules() {
  std::string out = "| rule | target | versions | severity | section | mended by |\n"
                    "|---|---|---|---|---|---|\n";
  for (const TargetFamily family : kFamilies)
    for (const TargetRule* rule : rules_of(family)) {
      out += "| `" + std::string(rule->id) + "` | " + name_of_family(family, rule->provider) +
             " | " + text_of(rule->versions) + " | " + text_of_severity(*rule) + " | " +
             std::string(rule->clause) + " | " + text_of_mends(*rule) + " |\n";
    }
  for (const TargetRule* rule : custom_rules())
    out += "| `" + std::string(rule->id) + "` | your own | all | error | 10 | " +
           text_of_mends(*rule) + " |\n";
  return out;
}

TEST(RuleList, IsWhatTheDocumentationSays) {
  std::ifstream file(std::string(test::source_dir()) + "/docs/targets.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str(), expected = table_of_rules();
  const std::string header = expected.substr(0, expected.find('\n'));
  const size_t begin = all.find(header);
  ASSERT_NE(begin, std::string::npos) << "docs/targets.md needs this table:\n" << expected;
  const std::string table = all.substr(begin, all.find("\n\n", begin) + 1 - begin);
  EXPECT_EQ(table, expected) << "docs/targets.md needs this table:\n" << expected;
}

} // namespace
} // namespace octet
