// SPDX-License-Identifier: Apache-2.0
// Loading, saving, refusing and encoding. That ids and offsets are right is what tokenizer_peer.py
// shows.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "octet/tokenizer.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kVocabulary = {
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un",   "##aff", "##able", "runn", "##ing",
    "the",   "film",  ".",     ",",     "was",    "good", "s",     "'",      "中",   "é"};

Tokenizer small(const NormalizerOptions& options = {}) {
  return Tokenizer::create(kVocabulary, options).value();
}

class TokenizerFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("octet_text_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }
  /// The message behind the file's name.
  std::string refusal(const std::string& name, const std::string& content) const {
    const std::string path = write(name, content);
    const Result<Tokenizer> tokenizer = Tokenizer::load(path);
    if (tokenizer.ok()) return "accepted";
    std::string text = tokenizer.error().text();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (size_t at = text.find(path); at != std::string::npos; at = text.find(path))
      text.replace(at, path.size(), "FILE");
    return text;
  }
  fs::path folder_;
};

TEST(Tokenizer, CutsWordsAtTheirLongestPieces) {
  const Tokenizer tokenizer = small();
  const Encoding e =
      tokenizer.encode("The UNAFFABLE film, running\xC3\xA9", {.offsets = true, .words = true});
  EXPECT_EQ(e.ids, (std::vector<int32_t>{2, 10, 5, 6, 7, 11, 13, 1, 3}));
  EXPECT_EQ(e.words, (std::vector<int32_t>{-1, 0, 1, 1, 1, 2, 3, 4, -1}));
  EXPECT_EQ(e.offsets,
            (std::vector<Offset>{
                {0, 0}, {0, 3}, {4, 6}, {6, 9}, {9, 13}, {14, 18}, {18, 19}, {20, 28}, {0, 0}}));
  EXPECT_EQ(e.special, (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(tokenizer.decode(e.ids), "the unaffable film,");
}

TEST(Tokenizer, PairsAndSpecialTokens) {
  const Tokenizer tokenizer = small();
  const Encoding e = tokenizer.encode("film", "was [MASK].", {});
  EXPECT_EQ(e.ids, (std::vector<int32_t>{2, 11, 3, 14, 4, 12, 3}));
  EXPECT_EQ(e.type_ids, (std::vector<uint8_t>{0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(e.special, (std::vector<uint8_t>{1, 0, 1, 0, 0, 0, 1}));
  EXPECT_TRUE(e.offsets.empty() && e.words.empty());
  EXPECT_EQ(tokenizer.encode("film", "was", {.special_tokens = false}).ids,
            (std::vector<int32_t>{11, 14}));
  EXPECT_EQ(tokenizer.encode("", {.special_tokens = false}).ids.size(), 0U);
  EXPECT_EQ(tokenizer.encode("film film", {.max_length = 1}).ids, (std::vector<int32_t>{2, 3}));
}

TEST(Tokenizer, BatchesEqualSingleTexts) {
  const Tokenizer tokenizer = small();
  std::vector<std::string> texts;
  texts.reserve(3000);
  for (int i = 0; i < 3000; ++i)
    texts.push_back(std::string(static_cast<size_t>(i % 50), ' ') +
                    "the film was \xE4\xB8\xAD \xFF good" + std::to_string(i));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  for (const int threads : {0, 1, 2, 5}) {
    const std::vector<Encoding> batch =
        tokenizer.encode_batch(views, views, {.max_length = 9, .offsets = true}, threads);
    ASSERT_EQ(batch.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const Encoding one = tokenizer.encode(texts[i], texts[i], {.max_length = 9, .offsets = true});
      ASSERT_EQ(batch[i].ids, one.ids);
      ASSERT_EQ(batch[i].offsets, one.offsets);
    }
  }
}

TEST(Tokenizer, KnowsItsVocabulary) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokenizer.size(), 20);
  EXPECT_EQ(tokenizer.token(5), "un");
  EXPECT_EQ(tokenizer.token(-1), "");
  EXPECT_EQ(tokenizer.token(20), "");
  EXPECT_EQ(tokenizer.id("##ing"), 9);
  EXPECT_EQ(tokenizer.id("ing"), -1);
  EXPECT_TRUE(tokenizer.continues_word(9));
  EXPECT_FALSE(tokenizer.continues_word(8));
  EXPECT_EQ(tokenizer.mask(), 4);
  std::vector<std::string> without = kVocabulary;
  without[4] = "mask";
  EXPECT_EQ(Tokenizer::create(without, {})->mask(), -1);
}

TEST(Tokenizer, HashTellsTokenizersApart) {
  const std::string hash = small().hash();
  EXPECT_EQ(hash.size(), 32U);
  EXPECT_EQ(small().hash(), hash);
  EXPECT_NE(small({.lowercase = false}).hash(), hash);
  EXPECT_NE(small({.strip_accents = NormalizerOptions::StripAccents::kNo}).hash(), hash);
  std::vector<std::string> swapped = kVocabulary;
  std::swap(swapped[5], swapped[6]);
  EXPECT_NE(Tokenizer::create(swapped, {})->hash(), hash);
}

TEST_F(TokenizerFiles, SavesWhatItLoads) {
  for (const bool lowercase : {true, false}) {
    NormalizerOptions options{.handle_chinese_chars = false, .lowercase = lowercase};
    options.strip_accents = NormalizerOptions::StripAccents::kNo;
    const Tokenizer tokenizer = small(options);
    ASSERT_TRUE(tokenizer.save(folder_.string()).ok());
    for (const char* name : {"", "tokenizer.json", "vocab.txt"}) {
      const Result<Tokenizer> again = Tokenizer::load((folder_ / name).string());
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(again->hash(), tokenizer.hash()) << name;
    }
  }
  const Result<Tokenizer> broken =
      Tokenizer::create({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a\nb"}, {});
  ASSERT_TRUE(broken.ok());
  EXPECT_EQ(
      broken->save(folder_.string()).error().text(),
      "entry 4 of the vocabulary holds a line feed or ends in a space; vocab.txt cannot hold it");
}

TEST_F(TokenizerFiles, ReadsWindowsLinesAndItsConfig) {
  write("tokenizer_config.json", R"({"do_lower_case": false, "mask_token": {"content": "<m>"}})");
  const std::string path = write("vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\nFilm\r\n<m>");
  const Result<Tokenizer> tokenizer = Tokenizer::load(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().text();
  EXPECT_FALSE(tokenizer->normalizer().lowercase);
  EXPECT_EQ(tokenizer->encode("Film film<m>").ids, (std::vector<int32_t>{2, 4, 1, 5, 3}));
  EXPECT_EQ(tokenizer->mask(), 5);
}

TEST_F(TokenizerFiles, RefusesVocabularies) {
  EXPECT_EQ(refusal("vocab.txt", ""), "FILE: the vocabulary has 0 entries but no [UNK]; a BERT "
                                      "vocabulary needs [UNK], [CLS], [SEP] and [PAD]");
  EXPECT_EQ(
      refusal("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n"),
      "FILE: the vocabulary has 4 entries but no [PAD]; a BERT vocabulary needs [UNK], [CLS], "
      "[SEP] and [PAD]");
  EXPECT_EQ(refusal("vocab.txt", "[UNK]\na\n[CLS]\na\n"),
            "FILE: entries 1 and 3 of the vocabulary are both \"a\"; remove one");
  EXPECT_EQ(refusal("vocab.txt", "[UNK]\n\na\n"),
            "line 2 of FILE is empty; a vocabulary has a token in every line");
  EXPECT_EQ(refusal("vocab.txt", "[UNK]\n\xFF\n"),
            "FILE: entry 1 of the vocabulary is not UTF-8; is it a vocabulary?");
  const std::string missing = (folder_ / "none").string();
  EXPECT_EQ(Tokenizer::load(missing).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(Tokenizer::load(folder_ / "empty").error().code(), ErrorCode::kNotFound);
}

TEST_F(TokenizerFiles, RefusesFilesThatAreTooLarge) {
  const std::string path = write("vocab.txt", "[UNK]\n");
  fs::resize_file(path, uintmax_t{1} << 40);
  EXPECT_EQ(Tokenizer::load(path).error().text(),
            path + " is above the limit of 67108864 bytes; is it the right file?");
}

TEST_F(TokenizerFiles, RefusesOtherTokenizers) {
  const auto file = [](const std::string& model, const std::string& normalizer = "BertNormalizer") {
    return R"({"normalizer": {"type": ")" + normalizer +
           R"("}, "pre_tokenizer": {"type": "BertPreTokenizer"},)"
           R"("post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},)"
           R"("model": )" +
           model + "}";
  };
  const std::string good =
      R"({"type": "WordPiece", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4}})";
  EXPECT_EQ(refusal("t.json", file(good)), "accepted");
  EXPECT_EQ(refusal("t.json", "nonsense"), "FILE: not valid JSON at line 1, column 2");
  EXPECT_EQ(refusal("t.json", std::string(100000, '[')),
            "FILE: brackets are nested more than 64 deep");
  EXPECT_EQ(refusal("t.json", file(R"({"type": "BPE", "vocab": {}, "merges": []})")),
            "FILE: its model is BPE, octet reads WordPiece; use the tokenizer of a BERT model");
  EXPECT_EQ(
      refusal("t.json", file(good, "NFC")),
      "FILE: its normalizer is NFC, octet reads BertNormalizer; use the tokenizer of a BERT model");
  EXPECT_EQ(refusal("t.json", file(R"({"vocab": {"a": 0, "b": 0}})")),
            "FILE: \"a\" and \"b\" both have the id 0; ids must differ");
  EXPECT_EQ(refusal("t.json", file(R"({"vocab": {"a": 7}})")),
            "FILE: the id of \"a\" is 7; ids of 1 tokens are from 0 to 0");
  EXPECT_EQ(refusal("t.json", file(R"({"vocab": {"a": -1}})")),
            "FILE: the id of \"a\" is -1; ids of 1 tokens are from 0 to 0");
  EXPECT_EQ(refusal("t.json", file(R"({"vocab": {"a": 0}, "continuing_subword_prefix": "@@"})")),
            "FILE: its continuing_subword_prefix is \"@@\", octet reads \"##\"");
}

} // namespace
} // namespace octet
