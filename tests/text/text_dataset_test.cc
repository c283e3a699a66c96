// SPDX-License-Identifier: Apache-2.0
// Rows of token ids against the tokenizer's own encoding; the cache on disk, also with two
// processes at once.
#include <cstdlib>
#include <filesystem>

#include "core/atomic_file.h"
#include "data/folder.h"
#include "text/rows.h"
#include "text/text_fixture.h"
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include "octet/text_dataset.h"

extern char** environ;

namespace octet {
namespace {

using test::contains;
using test::Folder;
using test::Texts;
using Indices = std::vector<int64_t>;

TextDatasetOptions in_memory(int64_t max_length) {
  TextDatasetOptions options;
  options.max_length = max_length;
  options.cache_folder = "none";
  return options;
}

std::shared_ptr<const Texts> labelled() {
  return std::make_shared<Texts>(std::vector<TextExample>{{"w1 w2a w3.", "", 1},
                                                          {"w4", "", 0},
                                                          {"w5 w6 w7 w8 w9 w10 w11 w12", "", 1}},
                                 std::vector<std::string>{"no", "yes"});
}

/// A row of a feature up to its padding.
std::vector<int64_t> row_of(const Batch& batch, size_t feature, int64_t row) {
  const Tensor& tensor = batch.inputs[feature].second;
  const Tensor& mask = batch.inputs[1].second;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < tensor.dim(1); ++i) {
    if (mask.at(row * tensor.dim(1) + i) > 0)
      out.push_back(static_cast<int64_t>(tensor.at(row * tensor.dim(1) + i)));
  }
  return out;
}

TEST(TextDataset, PadsToTheLongestRowOfTheBatch) {
  const auto data = make_text_dataset(labelled(), test::small_tokenizer(), in_memory(16)).value();
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(data->classes().size(), 2U);
  EXPECT_EQ(data->features()[0].second.text(), "i64[N, S]");
  const Batch batch = data->batch(Indices{1, 0}).value();
  ASSERT_EQ(batch.inputs.size(), 3U);
  EXPECT_EQ(batch.inputs[0].first, "input_ids");
  EXPECT_EQ(batch.inputs[1].first, "attention_mask");
  EXPECT_EQ(batch.inputs[2].first, "token_type_ids");
  // [CLS] w1 w2 ##a w3 . [SEP]
  EXPECT_EQ(batch.inputs[0].second.shape(), (Shape{2, 7}));
  EXPECT_EQ(batch.inputs[0].second.to_ints().value(),
            (std::vector<int64_t>{2, 15, 3, 0, 0, 0, 0, 2, 12, 13, 6, 14, 5, 3}));
  EXPECT_EQ(batch.inputs[1].second.to_ints().value(),
            (std::vector<int64_t>{1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(batch.labels.to_ints().value(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(data->length(0), 7);
  EXPECT_EQ(data->length(1), 3);
  EXPECT_TRUE(contains(data->batch(Indices{3}).error().text(), "example 3 is asked for"));
  EXPECT_EQ(data->batch_at(Indices{0}, 9).value().inputs[0].second.content_hash(),
            data->batch(Indices{0}).value().inputs[0].second.content_hash());
}

TEST(TextDataset, OptionsOfPadding) {
  TextDatasetOptions options = in_memory(14);
  options.token_type_ids = false;
  options.pad_multiple = 8;
  const Tokenizer tokenizer = test::small_tokenizer();
  const auto multiple = make_text_dataset(labelled(), tokenizer, options).value();
  EXPECT_EQ(multiple->batch(Indices{0}).value().inputs.size(), 2U);
  EXPECT_EQ(multiple->batch(Indices{0}).value().inputs[0].second.dim(1), 8);
  EXPECT_EQ(multiple->batch(Indices{2}).value().inputs[0].second.dim(1), 14);
  options.pad_to_max = true;
  const auto whole = make_text_dataset(labelled(), tokenizer, options).value();
  EXPECT_EQ(whole->batch(Indices{1}).value().inputs[0].second.dim(1), 14);
  EXPECT_EQ(whole->batch({}).value().inputs[0].second.dim(0), 0);
  options.max_length = 2;
  EXPECT_TRUE(contains(make_text_dataset(labelled(), tokenizer, options).error().text(),
                       "a sequence length of 2 is not possible"));
}

TEST(TextDataset, CutsAsTheTokenizerDoes) {
  const Tokenizer tokenizer = test::small_tokenizer();
  std::vector<TextExample> examples;
  for (int first = 1; first < 14; ++first) {
    for (int second = 1; second < 14; ++second) {
      TextExample example;
      for (int i = 0; i < first; ++i)
        example.text += "w" + std::to_string(i) + " ";
      for (int i = 0; i < second; ++i)
        example.text2 += "w" + std::to_string(100 + i) + " ";
      examples.push_back(example);
    }
  }
  const auto source = std::make_shared<Texts>(examples);
  for (int64_t max_length = 5; max_length < 18; ++max_length) {
    const auto data = make_text_dataset(source, tokenizer, in_memory(max_length)).value();
    EncodeOptions encode;
    encode.max_length = max_length;
    for (int64_t i = 0; i < data->size(); ++i) {
      const TextExample& example = examples[static_cast<size_t>(i)];
      const Encoding expected = tokenizer.encode(example.text, example.text2, encode);
      const Batch batch = data->batch(Indices{i}).value();
      EXPECT_EQ(row_of(batch, 0, 0),
                std::vector<int64_t>(expected.ids.begin(), expected.ids.end()));
      EXPECT_EQ(row_of(batch, 2, 0),
                std::vector<int64_t>(expected.type_ids.begin(), expected.type_ids.end()));
      EXPECT_EQ(data->length(i), std::ssize(expected.ids));
    }
  }
}

TEST(TextDataset, ALimitIsADrawThatTheSeedDecides) {
  const auto source = test::documents(300);
  const Tokenizer tokenizer = test::small_tokenizer();
  TextDatasetOptions options = in_memory(16);
  options.limit = 100;
  const auto hash = [&] {
    const auto data = make_text_dataset(source, tokenizer, options).value();
    EXPECT_EQ(data->size(), 100);
    Indices all(100);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<int64_t>(i);
    return data->batch(all).value().inputs[0].second.content_hash();
  };
  const uint64_t first = hash();
  EXPECT_EQ(hash(), first);
  options.seed = 1;
  EXPECT_NE(hash(), first);
}

std::vector<std::string> cache_files(const Folder& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".tokens") out.push_back(entry.path().string());
  }
  return out;
}

TEST(TokenCache, IsUsedKeyedAndChecked) {
  const Folder folder;
  const Tokenizer tokenizer = test::small_tokenizer();
  TextDatasetOptions options = in_memory(16);
  options.cache_folder = folder.path();
  int tokenized = 0;
  options.on_progress = [&](int64_t, int64_t) { ++tokenized; };
  const auto hash = [&](const std::shared_ptr<const TextSource>& source) {
    const auto data = make_text_dataset(source, tokenizer, options);
    return data.ok() ? (*data)->batch(Indices{0, 1, 2}).value().inputs[0].second.content_hash() : 0;
  };
  const uint64_t fresh = hash(labelled());
  EXPECT_GT(tokenized, 0);
  tokenized = 0;
  EXPECT_EQ(hash(labelled()), fresh);
  EXPECT_EQ(tokenized, 0);
  ASSERT_EQ(cache_files(folder).size(), 1U);
  // Another length needs no other file, another text does.
  options.max_length = 12;
  hash(labelled());
  EXPECT_EQ(cache_files(folder).size(), 1U);
  EXPECT_NE(hash(test::documents(3)), 0U);
  EXPECT_EQ(cache_files(folder).size(), 2U);
  for (const std::string& path : cache_files(folder)) {
    std::string content = read_file(path, 1 << 20).value();
    content[20] = static_cast<char>(content[20] + 1);
    ASSERT_TRUE(write_file(path, content, Overwrite::kYes).ok());
  }
  const auto damaged = make_text_dataset(labelled(), tokenizer, options);
  ASSERT_FALSE(damaged.ok());
  EXPECT_TRUE(contains(damaged.error().text(), ".tokens is damaged: its checksum"))
      << damaged.error().text();
  options.cache_folder = "/proc/no/such";
  EXPECT_TRUE(contains(make_text_dataset(labelled(), tokenizer, options).error().text(),
                       "cannot make the folder /proc/no/such"));
}

constexpr const char* kWorkerFolder = "OCTET_TEST_CACHE_FOLDER";

/// What each of the two processes below runs.
TEST(TokenCache, DISABLED_Worker) {
  TextDatasetOptions options = in_memory(32);
  options.cache_folder = std::getenv(kWorkerFolder);
  const auto data = make_text_dataset(test::documents(20000), test::small_tokenizer(), options);
  ASSERT_TRUE(data.ok()) << data.error().text();
  EXPECT_EQ((*data)->size(), 20000);
}

TEST(TokenCache, TwoProcessesAtOnce) {
  const Folder folder;
  ASSERT_EQ(setenv(kWorkerFolder, folder.path().c_str(), 1), 0);
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string filter = "--gtest_filter=TokenCache.DISABLED_Worker";
  std::string disabled = "--gtest_also_run_disabled_tests";
  std::string quiet = "--gtest_brief=1";
  char* arguments[] = {self.data(), filter.data(), disabled.data(), quiet.data(), nullptr};
  std::vector<pid_t> processes(2);
  for (pid_t& process : processes)
    ASSERT_EQ(posix_spawn(&process, self.c_str(), nullptr, nullptr, arguments, environ), 0);
  for (const pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  ASSERT_EQ(cache_files(folder).size(), 1U);
  TextDatasetOptions options = in_memory(32);
  options.cache_folder = folder.path();
  options.on_progress = [](int64_t, int64_t) { ADD_FAILURE() << "tokenized again"; };
  EXPECT_TRUE(make_text_dataset(test::documents(20000), test::small_tokenizer(), options).ok());
}

} // namespace
} // namespace octet
