// SPDX-License-Identifier: Apache-2.0
#include "cli/export_notes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

constexpr size_t kFew = 12;

/// Notes that someone may want to do something about.
bool asks_for_eyes(const ExportNote& note) {
  return note.rule == "left" || note.rule == "keep_float" || note.rule == "clamp";
}

} // namespace

Status append_notes(std::vector<ExportNote>& to, Result<std::vector<ExportNote>> more) {
  for (ExportNote& note : OCTET_TRY(std::move(more)))
    to.push_back(std::move(note));
  return ok_status();
}

void print_export_notes(const std::vector<ExportNote>& notes, bool all) {
  std::map<std::string, int> rules;
  for (const ExportNote& note : notes)
    ++rules[note.rule];
  const auto seen = std::count_if(notes.begin(), notes.end(), asks_for_eyes);
  size_t shown = 0;
  for (const ExportNote& note : notes) {
    if (!all && (!asks_for_eyes(note) || shown == kFew)) continue;
    ++shown;
    fmt::print("  {} {}: {}\n", note.rule, note.node, note.why);
  }
  if (!all && static_cast<size_t>(seen) > shown)
    fmt::print("  and {} more; --log shows all\n", static_cast<size_t>(seen) - shown);
  for (const auto& [rule, times] : rules)
    fmt::print("{:>7} x {}\n", times, rule);
}

nlohmann::ordered_json export_notes_json(const std::vector<ExportNote>& notes) {
  auto out = nlohmann::ordered_json::array();
  for (const ExportNote& note : notes)
    out.push_back(
        {{"rule", note.rule}, {"node", note.node}, {"why", note.why}, {"exact", note.exact}});
  return out;
}

} // namespace octet::cli
