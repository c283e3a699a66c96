// SPDX-License-Identifier: Apache-2.0
#include "cli/findings.h"

#include <algorithm>
#include <set>

#include "core/format.h"
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

constexpr size_t kShownNodes = 5, kShownTexts = 3;

std::string_view name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

/// Findings that say the same, of other nodes.
using Alike = std::vector<const Finding*>;
struct OfRule {
  size_t count = 0;
  std::vector<Alike> texts;
};

bool say_the_same(const Finding& a, const Finding& b) {
  return a.message == b.message && a.fix == b.fix && a.source == b.source;
}

/// By rule and severity, in the order of the first of each.
std::vector<OfRule> grouped(const std::vector<Finding>& findings) {
  std::vector<OfRule> out;
  for (const Finding& f : findings) {
    auto rule = std::find_if(out.begin(), out.end(), [&](const OfRule& other) {
      const Finding& first = *other.texts.front().front();
      return first.rule == f.rule && first.severity == f.severity;
    });
    if (rule == out.end()) rule = out.insert(out.end(), OfRule{});
    ++rule->count;
    const auto alike = std::find_if(rule->texts.begin(), rule->texts.end(),
                                    [&](const Alike& a) { return say_the_same(*a.front(), f); });
    if (alike == rule->texts.end())
      rule->texts.push_back({&f});
    else
      alike->push_back(&f);
  }
  return out;
}

std::string nodes_text(const Alike& findings) {
  std::string out;
  for (size_t i = 0; i < std::min(findings.size(), kShownNodes); ++i)
    out += (i > 0 ? ", " : "") + findings[i]->node;
  return findings.size() > kShownNodes
             ? fmt::format("{} and {} more", out, findings.size() - kShownNodes)
             : out;
}

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

} // namespace

std::string text(const std::vector<Finding>& findings, const std::string& model) {
  std::string out;
  for (const OfRule& rule : grouped(findings)) {
    for (size_t i = 0; i < std::min(rule.texts.size(), kShownTexts); ++i) {
      const Finding& f = *rule.texts[i].front();
      out += fmt::format("{}: {}: {} [{}]\n  {}\n  fix: {}\n  source: {}\n", model,
                         nodes_text(rule.texts[i]), name(f.severity), f.rule, f.message, f.fix,
                         f.source);
    }
    size_t left = rule.count;
    for (size_t i = 0; i < std::min(rule.texts.size(), kShownTexts); ++i)
      left -= rule.texts[i].size();
    if (left > 0)
      out += fmt::format("{}: and {} more [{}], in other words (--json has them all)\n", model,
                         left, rule.texts.front().front()->rule);
  }
  return out;
}

std::string counts(const std::vector<Finding>& findings) {
  size_t errors = 0;
  std::set<std::string_view> rules;
  for (const Finding& f : findings) {
    errors += f.severity == Severity::kError ? 1 : 0;
    rules.insert(f.rule);
  }
  const size_t warnings = findings.size() - errors;
  std::string out = errors > 0 ? counted(errors, "error") : "";
  if (warnings > 0) out += (errors > 0 ? " and " : "") + counted(warnings, "warning");
  return out.empty() ? "no findings" : out + " by " + counted(rules.size(), "rule");
}

nlohmann::ordered_json findings_json(const std::vector<Finding>& findings) {
  auto out = nlohmann::ordered_json::array();
  for (const Finding& f : findings)
    out.push_back({{"rule", f.rule},
                   {"severity", name(f.severity)},
                   {"node", f.node},
                   {"message", f.message},
                   {"fix", f.fix},
                   {"source", f.source}});
  return out;
}

} // namespace octet::cli
