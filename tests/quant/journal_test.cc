// SPDX-License-Identifier: Apache-2.0
// Journals: what was written is there again, however the file was cut off.
#include <cmath>
#include <limits>

#include "quant/search/journal.h"
#include "quant/search_support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

const JournalEntry kOne{"trial", {"default", {"a", "b\"c"}}, {{"ms", 0.1}, {"right", 12}}, {}};
const JournalEntry kTwo{
    "trial", {"float", {}}, {{"noise", std::numeric_limits<double>::infinity()}}, {}};
const JournalEntry kFour{
    "trial", {"default", {"a"}, {{"b", "dynamic"}, {"c\n", "fp8"}}}, {{"bytes", 12}}, {}};
const JournalEntry kThree{"left out", {"gptq", {}}, {}, "no step of it\nhelps"};

TEST(SearchJournal, CutAnywhereKeepsWholeLines) {
  const std::vector<std::string> lines = {"identity", journal_line(kOne), journal_line(kTwo),
                                          journal_line(kThree), journal_line(kFour)};
  std::string text;
  std::vector<size_t> ends;
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    text += line + "\n";
    ends.push_back(text.size());
  }
  const std::vector<JournalEntry> entries = {kOne, kTwo, kThree, kFour};
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const auto read = parse_journal(std::string_view(text).substr(0, cut));
    ASSERT_TRUE(read.ok()) << cut << ": " << read.error().text();
    const auto whole = static_cast<size_t>(
        std::count_if(ends.begin(), ends.end(), [&](size_t end) { return end <= cut; }));
    EXPECT_EQ(read->whole_bytes, whole == 0 ? 0 : ends[whole - 1]);
    EXPECT_EQ(read->identity, whole == 0 ? "" : "identity");
    const size_t count = whole == 0 ? 0 : whole - 1;
    ASSERT_EQ(read->entries.size(), count);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(read->entries[i], entries[i]);
  }
}

TEST(SearchJournal, GoesOnBehindTheLastWholeLine) {
  const test::TemporaryFile file;
  {
    Journal journal = Journal::open(file.path(), "identity").value();
    EXPECT_EQ(journal.find("trial", kOne.candidate), nullptr);
    ASSERT_TRUE(journal.append(kOne).ok());
    EXPECT_FALSE(Journal::open(file.path(), "identity").ok()) << "two write it at once";
  }
  std::ofstream(file.path(), std::ios::app) << "{\"kind\": \"tri";
  {
    Journal journal = Journal::open(file.path(), "identity").value();
    EXPECT_EQ(journal.resumed(), 1);
    ASSERT_NE(journal.find("trial", kOne.candidate), nullptr);
    EXPECT_EQ(*journal.find("trial", kOne.candidate), kOne);
    EXPECT_EQ(journal.find("check", kOne.candidate), nullptr);
    ASSERT_TRUE(journal.append(kTwo).ok());
  }
  EXPECT_EQ(file.content(), "identity\n" + journal_line(kOne) + "\n" + journal_line(kTwo) + "\n");
}

TEST(SearchJournal, RefusesWhatIsNotItsOwn) {
  const test::TemporaryFile file;
  { const Journal journal = Journal::open(file.path(), "identity").value(); }
  const auto other = Journal::open(file.path(), "another");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().text().find("--restart"), std::string::npos);
  EXPECT_EQ(file.content(), "identity\n");
  for (const char* line :
       {"", "[]", "{}", R"({"kind": 1, "recipe": "a", "float": [], "numbers": {}})",
        R"({"kind": "a", "recipe": "a", "float": [1], "numbers": {}})",
        R"({"kind": "a", "recipe": "a", "float": [], "numbers": {"ms": "1"}})",
        R"({"kind": "a", "recipe": "a", "float": [], "choices": [], "numbers": {}})",
        R"({"kind": "a", "recipe": "a", "float": [], "choices": {"b": 1}, "numbers": {}})",
        R"({"kind": "a", "recipe": "a", "float": [], "numbers": {}, "why": 1})"}) {
    const auto read = parse_journal("identity\n" + std::string(line) + "\n");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_NE(read.error().text().find("line 2"), std::string::npos) << read.error().text();
  }
}

} // namespace
} // namespace octet
