// SPDX-License-Identifier: Apache-2.0
// The trained vocabulary against the definition: at every step all pairs are counted anew.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/progress.h"
#include <gtest/gtest.h>

#include "octet/tokenizer.h"

namespace octet {
namespace {

Result<Tokenizer> train(const std::vector<std::string>& texts,
                        const WordPieceTrainOptions& options) {
  size_t i = 0;
  return train_wordpiece(
      [&](std::string_view& text) {
        if (i == texts.size()) return false;
        text = texts[i++];
        return true;
      },
      options);
}

std::vector<std::string> vocabulary(const Tokenizer& tokenizer) {
  std::vector<std::string> out;
  out.reserve(static_cast<size_t>(tokenizer.size()));
  for (int32_t i = 0; i < tokenizer.size(); ++i)
    out.emplace_back(tokenizer.token(i));
  return out;
}

/// Lower-case ASCII words of texts that hold nothing else.
std::map<std::string, int64_t> count_words(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> out;
  for (const std::string& text : texts) {
    std::string word;
    for (const char c : text + " ") {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        ++out[word];
        word.clear();
      }
    }
  }
  return out;
}

/// The definition, slowly.
std::vector<std::string> expected(const std::vector<std::string>& texts,
                                  const WordPieceTrainOptions& options) {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<std::pair<std::vector<std::string>, int64_t>> words;
  std::set<std::string> begins;
  std::set<std::string> inside;
  for (const auto& [word, count] : count_words(texts)) {
    std::vector<std::string> pieces;
    for (size_t i = 0; i < word.size(); ++i) {
      pieces.push_back((i == 0 ? "" : "##") + std::string(1, word[i]));
      begins.insert(std::string(1, word[i]));
      if (i > 0) inside.insert(pieces.back());
    }
    words.emplace_back(pieces, count);
  }
  tokens.insert(tokens.end(), begins.begin(), begins.end());
  tokens.insert(tokens.end(), inside.begin(), inside.end());
  std::map<std::string, int32_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i)
    ids[tokens[i]] = static_cast<int32_t>(i);
  while (static_cast<int64_t>(tokens.size()) < options.vocabulary_size) {
    std::map<std::string, int64_t> single;
    std::map<std::pair<std::string, std::string>, int64_t> pairs;
    for (const auto& [pieces, count] : words)
      for (size_t i = 0; i < pieces.size(); ++i) {
        single[pieces[i]] += count;
        if (i + 1 < pieces.size()) pairs[{pieces[i], pieces[i + 1]}] += count;
      }
    using Rank = std::tuple<double, int64_t, int32_t, int32_t>;
    Rank best{};
    std::pair<std::string, std::string> choice;
    for (const auto& [pair, count] : pairs) {
      if (count < options.min_frequency) continue;
      const double score = options.likelihood ? static_cast<double>(count) /
                                                    (static_cast<double>(single[pair.first]) *
                                                     static_cast<double>(single[pair.second]))
                                              : 0.0;
      const Rank rank{score, count, -ids[pair.first], -ids[pair.second]};
      if (choice.first.empty() || rank > best) {
        best = rank;
        choice = pair;
      }
    }
    if (choice.first.empty()) break;
    const std::string joined = choice.first + choice.second.substr(2);
    if (ids.emplace(joined, static_cast<int32_t>(tokens.size())).second) tokens.push_back(joined);
    for (auto& [pieces, count] : words) {
      std::vector<std::string> next;
      for (size_t i = 0; i < pieces.size(); ++i) {
        const bool here =
            i + 1 < pieces.size() && pieces[i] == choice.first && pieces[i + 1] == choice.second;
        next.push_back(here ? joined : pieces[i]);
        i += here ? 1 : 0;
      }
      pieces = next;
    }
  }
  return tokens;
}

std::vector<std::string> random_texts(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> out;
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (uint32_t n = random() % 30; n > 0; --n)
      text += "aaabbcd  "[random() % 9];
    out.push_back(text);
  }
  return out;
}

TEST(TrainWordPiece, EqualsTheDefinition) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const std::vector<std::string> texts = random_texts(seed);
    WordPieceTrainOptions options;
    options.vocabulary_size = 13 + static_cast<int64_t>(seed) * 5;
    options.likelihood = seed % 2 == 1;
    options.min_frequency = 1 + seed % 3;
    const Result<Tokenizer> tokenizer = train(texts, options);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    EXPECT_EQ(vocabulary(*tokenizer), expected(texts, options)) << "seed " << seed;
  }
}

TEST(TrainWordPiece, DoesNotDependOnThreads) {
  std::vector<std::string> texts;
  for (uint32_t seed = 0; seed < 20; ++seed)
    for (const std::string& text : random_texts(seed))
      texts.push_back(text + " Ünïcode 中文 naïve, co-op!");
  WordPieceTrainOptions options;
  options.vocabulary_size = 300;
  std::set<std::string> hashes;
  for (const int threads : {1, 2, 3, 8}) {
    options.threads = threads;
    const Result<Tokenizer> tokenizer = train(texts, options);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    EXPECT_EQ(tokenizer->encode("中 unicode").ids.size(), 4U);
    hashes.insert(tokenizer->hash());
  }
  EXPECT_EQ(hashes.size(), 1U);
}

TEST(TrainWordPiece, KeepsCaseWhenAsked) {
  WordPieceTrainOptions options;
  options.vocabulary_size = 40;
  options.normalizer.lowercase = false;
  const Result<Tokenizer> tokenizer = train({"Été Été Été", "ab ab ab"}, options);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_GE(tokenizer->id("Été"), 0);
  EXPECT_EQ(tokenizer->id("ete"), -1);
}

TEST(TrainWordPiece, SaysWhyNot) {
  WordPieceTrainOptions options;
  EXPECT_EQ(train({}, options).error().text(), "there are no words in the text; give more text");
  EXPECT_EQ(train({" \n", "\x01"}, options).error().text(),
            "there are no words in the text; give more text");
  options.vocabulary_size = 3;
  EXPECT_EQ(train({"a"}, options).error().text(),
            "a vocabulary of 3 entries cannot be trained; give a size from 7 to 16777216");
  options.vocabulary_size = 100;
  CancelToken cancel;
  cancel.cancel();
  options.cancel = &cancel;
  EXPECT_EQ(train({"a b"}, options).error().code(), ErrorCode::kCancelled);
}

TEST(TrainWordPiece, SmallSizesKeepTheCommonestCharacters) {
  WordPieceTrainOptions options;
  options.vocabulary_size = 11;
  const Result<Tokenizer> tokenizer = train({"aaaa bbb cc d e f"}, options);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_LE(tokenizer->size(), 11);
  EXPECT_GE(tokenizer->id("a"), 0);
  EXPECT_EQ(tokenizer->id("f"), -1);
}

} // namespace
} // namespace octet
