// SPDX-License-Identifier: Apache-2.0
// What a search has measured, one JSON object a line, written when it was measured: a search that was
// killed reads it and goes on. The first line says what is searched; a line that a kill cut off is
// dropped.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "octet/result.h"

namespace octet {

/// A network of a search: a recipe, with some of its layers in float, and some by a choice of their
/// own (quant/search/layer_choices.h).
struct PlanCandidate {
  std::string recipe; ///< "float": the network as it came
  std::set<std::string> in_float = {};
  std::map<std::string, std::string> choices = {}; ///< by layer; no layer is in float too
  bool is_recipe() const { return in_float.empty() && choices.empty(); }
  auto operator<=>(const PlanCandidate&) const = default;
};

/// One line: what was done with a network, and the numbers that came out. They may be infinite.
struct JournalEntry {
  std::string kind; ///< "trial", "check", "left out"
  PlanCandidate candidate;
  std::map<std::string, double> numbers;
  std::string why = {}; ///< of what was left out
  bool operator==(const JournalEntry&) const = default;
};

std::string journal_line(const JournalEntry& entry);

struct JournalText {
  std::string identity; ///< the first line; empty: there is none
  std::vector<JournalEntry> entries;
  size_t whole_bytes = 0; ///< up to the end of the last line that is whole
};
/// Errors name the line: whole, and not what journal_line() writes.
Result<JournalText> parse_journal(std::string_view text);

class Journal {
 public:
  /// Opens or begins the file. `identity`: a line that says what is searched, on what and how.
  /// Errors: it cannot be written, another process has it open, it is of another search.
  static Result<Journal> open(const std::string& path, const std::string& identity);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  /// Null: not there.
  const JournalEntry* find(std::string_view kind, const PlanCandidate& candidate) const;
  /// When it returns the line is on the disk.
  Status append(JournalEntry entry);
  /// Lines that were there when it was opened.
  int64_t resumed() const { return resumed_; }

 private:
  Journal(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Status write(std::string_view line) const;

  std::string path_;
  int file_;
  int64_t resumed_ = 0;
  std::map<std::pair<std::string, PlanCandidate>, JournalEntry, std::less<>> entries_;
};

} // namespace octet
