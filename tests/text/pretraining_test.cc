// SPDX-License-Identifier: Apache-2.0
// Pairs and masks: their frequencies against the binomial distribution, and that they are a
// function of (seed, epoch, index).
#include <cmath>
#include <map>
#include <numeric>

#include "text/text_fixture.h"
#include <gtest/gtest.h>

#include "octet/text_dataset.h"

namespace octet {
namespace {

using Indices = std::vector<int64_t>;
using Data = std::shared_ptr<const Dataset>;

constexpr int64_t kPad = 0, kCls = 2, kSep = 3, kMask = 4;

TextDatasetOptions options_of(int64_t max_length) {
  TextDatasetOptions options;
  options.max_length = max_length;
  options.cache_folder = "none";
  options.seed = 11;
  return options;
}

Data made(const MaskingOptions& masking,
          NextSentence next = NextSentence::kYes,
          Predictions predictions = Predictions::kEverywhere,
          const TextDatasetOptions& options = options_of(64)) {
  const auto data = make_pretraining_dataset(test::documents(1200), test::small_tokenizer(),
                                             options, masking, next, predictions);
  EXPECT_TRUE(data.ok()) << (data.ok() ? "" : data.error().text());
  return *data;
}

Batch all_of(const Data& data, int64_t epoch) {
  Indices all(static_cast<size_t>(data->size()));
  std::iota(all.begin(), all.end(), 0);
  return data->batch_at(all, epoch).value();
}

/// Within five standard deviations of a binomial count; a fixed seed makes it a fixed answer.
void expect_share(double count, double trials, double share) {
  EXPECT_NEAR(count, trials * share, 5 * std::sqrt(trials * share * (1 - share)) + 1)
      << count << " of " << trials;
}

/// Input as it was before masking.
std::vector<int64_t> originals(const Batch& batch) {
  std::vector<int64_t> ids = batch.inputs[0].second.to_ints().value();
  const std::vector<int64_t> labels = batch.targets[0].second.to_ints().value();
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = labels[i] == -100 ? ids[i] : labels[i];
  return ids;
}

TEST(Masking, FrequenciesAreThoseOfBert) {
  const Data data = made({});
  double ordinary = 0, chosen = 0, masked = 0, kept = 0, random = 0;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const Batch batch = all_of(data, epoch);
    const auto ids = batch.inputs[0].second.to_ints().value();
    const auto labels = batch.targets[0].second.to_ints().value();
    const auto original = originals(batch);
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool special = original[i] == kPad || original[i] == kCls || original[i] == kSep;
      EXPECT_FALSE(special && labels[i] != -100);
      ordinary += !special;
      if (labels[i] == -100) continue;
      ++chosen;
      masked += ids[i] == kMask;
      kept += ids[i] == labels[i];
      random += ids[i] != kMask && ids[i] != labels[i];
      EXPECT_TRUE(ids[i] == kMask || ids[i] >= 5) << "a special token stands in for another";
    }
  }
  EXPECT_GT(chosen, 10000);
  expect_share(chosen, ordinary, 0.15);
  expect_share(masked, chosen, 0.8);
  expect_share(random, chosen, 0.1 * 205 / 206); // one in 206 ordinary tokens is the same one
  expect_share(kept, chosen, 0.1 + 0.1 / 206);
}

TEST(Masking, IsAFunctionOfSeedEpochAndIndex) {
  const Data data = made({});
  const auto hash = [](const Batch& batch) {
    return batch.inputs[0].second.content_hash() ^ batch.targets[0].second.content_hash();
  };
  const uint64_t alone = hash(data->batch_at(Indices{7}, 3).value());
  data->batch_at(Indices{1, 2, 3}, 5).value();
  EXPECT_EQ(hash(data->batch_at(Indices{7}, 3).value()), alone);
  EXPECT_EQ(hash(made({})->batch_at(Indices{7}, 3).value()), alone);
  EXPECT_NE(hash(data->batch_at(Indices{7}, 4).value()), alone);
  EXPECT_EQ(hash(data->batch(Indices{7}).value()), hash(data->batch_at(Indices{7}, 0).value()));
  TextDatasetOptions other = options_of(64);
  other.seed = 12;
  const Data seeded = made({}, NextSentence::kYes, Predictions::kEverywhere, other);
  EXPECT_NE(hash(seeded->batch_at(Indices{7}, 3).value()), alone);
}

TEST(Masking, WholeWordsStayTogetherAndPredictionsAreLimited) {
  MaskingOptions masking;
  masking.whole_word = true;
  masking.max_predictions = 4;
  const Data data = made(masking);
  const Batch batch = all_of(data, 0);
  const auto labels = batch.targets[0].second.to_ints().value();
  const auto original = originals(batch);
  const int64_t columns = batch.inputs[0].second.dim(1);
  std::map<int64_t, int> sizes;
  for (int64_t row = 0; row < data->size(); ++row) {
    int count = 0;
    for (int64_t c = 1; c < columns; ++c) {
      const auto i = static_cast<size_t>(row * columns + c);
      count += labels[i] != -100;
      // 6 to 10 are ##a to ##e; what follows [SEP] may be the rest of a word that was cut.
      const bool continues = original[i] >= 6 && original[i] <= 10 && original[i - 1] >= 5;
      if (continues) {
        EXPECT_EQ(labels[i] == -100, labels[i - 1] == -100) << row << " " << c;
      }
    }
    ++sizes[count];
    EXPECT_LE(count, 4);
  }
  EXPECT_GT(sizes[4], 100);
}

/// In the corpus a word names its document, so that the answer can be read off the row.
TEST(NextSentences, AreHalfOfThemFromAnotherDocument) {
  MaskingOptions masking;
  masking.rate = 0;
  const Data data = made(masking);
  double random = 0, rows = 0;
  std::map<int64_t, double> tokens;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const Batch batch = all_of(data, epoch);
    const auto ids = batch.inputs[0].second.to_ints().value();
    const auto types = batch.inputs[2].second.to_ints().value();
    const auto next = batch.targets[1].second.to_ints().value();
    const int64_t columns = batch.inputs[0].second.dim(1);
    for (int64_t row = 0; row < data->size(); ++row) {
      int64_t words[2] = {-1, -1};
      int separators = 0, length = 0;
      for (int64_t c = 0; c < columns; ++c) {
        const auto i = static_cast<size_t>(row * columns + c);
        const auto part = static_cast<size_t>(types[i]);
        EXPECT_EQ(types[i] == 1, separators == 1 && ids[i] != kPad);
        if (ids[i] > 10) {
          EXPECT_TRUE(words[part] == -1 || words[part] == ids[i]) << "a part of two documents";
          words[part] = ids[i];
        }
        separators += ids[i] == kSep;
        length += ids[i] != kPad;
      }
      EXPECT_EQ(separators, 2);
      EXPECT_EQ(ids[static_cast<size_t>(row * columns)], kCls);
      const int64_t label = next[static_cast<size_t>(row)];
      tokens[label] += length;
      const bool seen = words[0] != -1 && words[1] != -1;
      EXPECT_TRUE(!seen || words[0] == words[1] || label == 1);
      random += label == 1;
      ++rows;
    }
  }
  expect_share(random, rows, 0.5);
  // Lengths do not give the answer away.
  EXPECT_NEAR(tokens[1] / random, tokens[0] / (rows - random), 3);
}

TEST(NextSentences, RowsFillTheLengthAndLengthIsABound) {
  MaskingOptions masking;
  masking.short_rate = 0;
  const Data data = made(masking);
  const Batch batch = all_of(data, 0);
  EXPECT_EQ(batch.inputs[0].second.dim(1), 64);
  double full = 0, filled = 0;
  for (int64_t row = 0; row < data->size(); ++row) {
    int64_t length = 0;
    for (int64_t c = 0; c < 64; ++c)
      length += static_cast<int64_t>(batch.inputs[1].second.at(row * 64 + c));
    const bool follows = batch.targets[1].second.at(row) == 0;
    EXPECT_TRUE(!follows || length == data->length(row));
    full += data->length(row) == 64;
    filled += length == 64;
  }
  EXPECT_GT(full, 300);
  EXPECT_GT(filled, 0.8 * full);
}

TEST(Pretraining, WithoutNextSentences) {
  const Data data = made({}, NextSentence::kNo);
  const Batch batch = all_of(data, 0);
  ASSERT_EQ(batch.targets.size(), 1U);
  for (const int64_t type : batch.inputs[2].second.data<int64_t>())
    EXPECT_EQ(type, 0);
  EXPECT_TRUE(batch.labels.empty());
}

TEST(Pretraining, GatheredPredictionsAreTheSameOnes) {
  const Data everywhere = made({});
  const Data gathered = made({}, NextSentence::kYes, Predictions::kGathered);
  EXPECT_EQ(gathered->features().back().first, "masked_positions");
  EXPECT_EQ(gathered->features().back().second.text(), "i64[M]");
  const Indices rows = {5, 900, 2, 2};
  const Batch a = everywhere->batch_at(rows, 2).value();
  const Batch b = gathered->batch_at(rows, 2).value();
  const auto labels = a.targets[0].second.to_ints().value();
  std::vector<int64_t> positions, values;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == -100) continue;
    positions.push_back(static_cast<int64_t>(i));
    values.push_back(labels[i]);
  }
  EXPECT_EQ(b.inputs.back().first, "masked_positions");
  EXPECT_EQ(b.inputs.back().second.to_ints().value(), positions);
  EXPECT_EQ(b.targets[0].second.to_ints().value(), values);
  EXPECT_TRUE(a.inputs[0].second.identical(b.inputs[0].second));
  EXPECT_TRUE(a.targets[1].second.identical(b.targets[1].second));
}

TEST(Pretraining, SaysWhatIsMissing) {
  const auto text = [](const std::shared_ptr<const TextSource>& source, const Tokenizer& tokenizer,
                       const MaskingOptions& masking) {
    return make_pretraining_dataset(source, tokenizer, options_of(64), masking, NextSentence::kYes,
                                    Predictions::kEverywhere)
        .error()
        .text();
  };
  const Tokenizer without =
      Tokenizer::create({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "w1"}, {}).value();
  EXPECT_NE(text(test::documents(3), without, {}).find("has no [MASK]"), std::string::npos);
  const Tokenizer tokenizer = test::small_tokenizer();
  EXPECT_NE(text(test::documents(1), tokenizer, {}).find("one document"), std::string::npos);
  MaskingOptions masking;
  masking.rate = 1.5;
  EXPECT_NE(text(test::documents(3), tokenizer, masking).find("masking rates 1.5"),
            std::string::npos);
  const auto empty = std::make_shared<test::Texts>(std::vector<TextExample>{{"\x01 \x02", "", -1}});
  EXPECT_NE(text(empty, tokenizer, {}).find("has no tokens"), std::string::npos);
}

} // namespace
} // namespace octet
