// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "text/sentences.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using Sentences = std::vector<std::string_view>;

TEST(Sentences, EndAtMarksBreaksAndLines) {
  EXPECT_EQ(split_sentences("One. Two! Three?"), (Sentences{"One.", "Two!", "Three?"}));
  EXPECT_EQ(split_sentences("He said \"no.\" Then he left (at last!). End"),
            (Sentences{"He said \"no.\"", "Then he left (at last!).", "End"}));
  EXPECT_EQ(split_sentences("A<br /><br />B<BR>c<br/>"), (Sentences{"A", "B", "c"}));
  EXPECT_EQ(split_sentences("one\ntwo\r\n\n three "), (Sentences{"one", "two", "three"}));
}

TEST(Sentences, GoOnInsideOfNumbersAndAbbreviations) {
  EXPECT_EQ(split_sentences("It cost 3.50 at example.com."),
            (Sentences{"It cost 3.50 at example.com."}));
  EXPECT_EQ(split_sentences("Well... maybe not, i.e. never."),
            (Sentences{"Well... maybe not, i.e. never."}));
  EXPECT_EQ(split_sentences("a < b and <break> stays"), (Sentences{"a < b and <break> stays"}));
}

TEST(Sentences, LongOnesAreCutAtWhiteSpace) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "word ";
  const Sentences parts = split_sentences(text);
  EXPECT_EQ(parts.size(), 5U);
  for (const std::string_view part : parts)
    EXPECT_LE(part.size(), 1004U);
  EXPECT_EQ(split_sentences(std::string(5000, 'a')).size(), 1U);
}

TEST(Sentences, NothingIsNoSentence) {
  EXPECT_TRUE(split_sentences("").empty());
  EXPECT_TRUE(split_sentences(" \n<br />\t").empty());
  EXPECT_EQ(split_sentences("<b"), (Sentences{"<b"}));
  EXPECT_EQ(split_sentences("<br"), (Sentences{"<br"}));
}

} // namespace
} // namespace octet
