// SPDX-License-Identifier: Apache-2.0
// Rules of check: each says what is wrong, how much it matters, and the way out.
#include <string>

#include "targets/findings.h"
#include "targets/rule_files.h"
#include <gtest/gtest.h>

#include "octet/repair.h"
#include "octet/target.h"

namespace octet {
namespace {

TEST(CheckRules, EachIsFoundWithItsSeverityAndAWayOut) {
  for (const test::RuleFile& broken : test::rule_files()) {
    SCOPED_TRACE(std::string(broken.rule) + " for " + broken.target);
    const Graph graph = test::parse_rule_file(broken);
    const auto findings = check(graph, test::target_of(broken)).value();
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& f) { return f.rule == broken.rule; });
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(found->severity, broken.severity);
    EXPECT_FALSE(found->fix.empty());
    if (found->fix.find("octet repair does") != std::string::npos) {
      const Repaired repaired = repair(graph, test::target_of(broken)).value();
      EXPECT_FALSE(test::has_rule(repaired.left, broken.rule));
    }
    EXPECT_TRUE(broken.severity == Severity::kWarning || !accepted(findings));
  }
}

} // namespace
} // namespace octet
