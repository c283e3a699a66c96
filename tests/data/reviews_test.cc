// SPDX-License-Identifier: Apache-2.0
// The generated reviews: stable, coherent, and harder than counting words.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "core/hash.h"
#include "data/reviews.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using Source = std::shared_ptr<const TextSource>;

std::vector<std::string> words_of(const std::string& text, int order) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;)
    words.push_back(word);
  std::vector<std::string> out = words;
  for (size_t i = 1; order == 2 && i < words.size(); ++i)
    out.push_back(words[i - 1] + " " + words[i]);
  return out;
}

/// Test accuracy of naive Bayes on which words (and pairs of words) are there.
double naive_bayes(const Source& train, const Source& held_out, int order) {
  std::map<std::string, std::array<double, 2>> counts;
  for (int64_t i = 0; i < 6000; ++i) {
    const TextExample example = train->example(i).value();
    const auto words = words_of(example.text, order);
    for (const std::string& word : std::set<std::string>(words.begin(), words.end()))
      ++counts[word][static_cast<size_t>(example.label)];
  }
  int right = 0;
  constexpr int kTested = 2000;
  for (int64_t i = 0; i < kTested; ++i) {
    const TextExample example = held_out->example(i).value();
    const auto words = words_of(example.text, order);
    double score = 0;
    for (const std::string& word : std::set<std::string>(words.begin(), words.end())) {
      const auto found = counts.find(word);
      if (found != counts.end()) score += std::log((found->second[1] + 1) / (found->second[0] + 1));
    }
    right += (score > 0 ? 1 : 0) == example.label;
  }
  return static_cast<double>(right) / kTested;
}

TEST(Reviews, AreTheSameBytesEverywhere) {
  const Source train = open_reviews(Split::kTrain, Labels::kYes).value();
  const Source held_out = open_reviews(Split::kTest, Labels::kYes).value();
  EXPECT_EQ(train->size(), 20000);
  EXPECT_EQ(held_out->size(), 4000);
  uint64_t hash = 0;
  int positive = 0;
  for (int64_t i = 0; i < 4000; ++i) {
    const TextExample example = held_out->example(i).value();
    hash = hash_bytes(example.text, hash);
    positive += static_cast<int>(example.label);
    EXPECT_EQ(example.text.find('%'), std::string::npos) << example.text;
  }
  EXPECT_EQ(hash, 7455627743720648922U);
  EXPECT_NEAR(positive, 2000, 127); // four standard deviations
  EXPECT_EQ(open_reviews(Split::kTest, Labels::kNo).value()->example(0).value().label, -1);
}

TEST(Reviews, GiveTheirLastSentences) {
  const Source whole = open_reviews(Split::kTest, Labels::kYes).value();
  const Source ends = open_text("reviews?last=2", Split::kTest).value();
  ASSERT_EQ(ends->size(), whole->size());
  for (int64_t i = 0; i < 200; ++i) {
    const TextExample all = whole->example(i).value(), end = ends->example(i).value();
    EXPECT_TRUE(all.text.ends_with(" " + end.text)) << end.text;
    EXPECT_EQ(end.label, all.label);
    const auto ends_sentence = [](char c) { return c == '.' || c == '!'; };
    EXPECT_EQ(std::count_if(end.text.begin(), end.text.end(), ends_sentence), 2) << end.text;
  }
  EXPECT_FALSE(open_reviews(Split::kTest, Labels::kYes, 15).ok());
  EXPECT_FALSE(open_text("reviews?last=0", Split::kTest).ok());
  EXPECT_FALSE(open_text("reviews?first=3", Split::kTest).ok());
}

TEST(Reviews, SingleWordsSayLessThanTheirOrder) {
  const Source train = open_reviews(Split::kTrain, Labels::kYes).value();
  const Source held_out = open_reviews(Split::kTest, Labels::kYes).value();
  const double words = naive_bayes(train, held_out, 1);
  const double pairs = naive_bayes(train, held_out, 2);
  RecordProperty("words", std::to_string(words));
  RecordProperty("pairs", std::to_string(pairs));
  EXPECT_GT(words, 0.65);
  EXPECT_LT(words, 0.93);
  EXPECT_GT(pairs, words);
}

/// Sentences of one review share names; those of two rarely do.
TEST(Reviews, SentencesOfOneReviewBelongTogether) {
  const Source train = open_reviews(Split::kTrain, Labels::kYes).value();
  const auto names = [&](int64_t i, bool second_half) {
    const auto words = words_of(train->example(i).value().text, 1);
    std::set<std::string> out;
    for (size_t k = 0; k < words.size(); ++k) {
      const bool wanted = (k >= words.size() / 2) == second_half;
      const bool inside = k > 0 && words[k - 1].back() != '.' && words[k - 1].back() != '!';
      if (wanted && inside && words[k].size() > 2 && words[k][0] >= 'A' && words[k][0] <= 'Z')
        out.insert(words[k].substr(0, 4));
    }
    return out;
  };
  const auto shared = [&](int64_t a, int64_t b) {
    const auto first = names(a, false);
    int count = 0;
    for (const std::string& name : names(b, true))
      count += static_cast<int>(first.count(name));
    return count;
  };
  int same = 0, other = 0;
  for (int64_t i = 0; i < 500; ++i) {
    same += shared(i, i) >= 2;
    other += shared(i, i + 1) >= 2;
  }
  EXPECT_GT(same, 400);
  EXPECT_LT(other, 100);
}

} // namespace
} // namespace octet
