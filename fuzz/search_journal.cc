// SPDX-License-Identifier: Apache-2.0
// Journals of searches: whatever the bytes are, measurements or an error come out, and what was read
// is written and read as the same.
#include <cstdlib>

#include "quant/search/journal.h"
#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  const std::string first = "{\"octet_search\":1}\n";
  return {
      first,
      first + journal_line({"trial", {"default", {"conv1", "fc"}}, {{"ms", 1.5}}, {}}) + "\n",
      first + journal_line({"trial", {"default", {}, {{"fc", "dynamic"}}}, {{"ms", 1}}, {}}) + "\n",
      first + journal_line({"left out", {"gptq", {}}, {{"seconds", 2}}, "no step"}) + "\n{\"ki"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto journal = octet::parse_journal(text);
  if (!journal.ok()) return 0;
  if (journal->whole_bytes > size) std::abort();
  std::string again = journal->identity + "\n";
  for (const octet::JournalEntry& entry : journal->entries)
    again += octet::journal_line(entry) + "\n";
  const auto reread = octet::parse_journal(again);
  if (!reread.ok() || reread->entries != journal->entries) std::abort();
  return 0;
}
