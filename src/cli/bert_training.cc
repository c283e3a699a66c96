// SPDX-License-Identifier: Apache-2.0
#include "cli/bert_training.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli/models.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/hugging_face.h"
#include "octet/model_folder.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDefaultVocabulary = 8000;

/// A whole number above 0, or 0.
int64_t as_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

Result<Tokenizer>
learn_vocabulary(const TextSource& texts, int64_t size, bool cased, const Common& common) {
  ProgressLine progress("vocabulary", "texts");
  WordPieceTrainOptions options;
  options.vocabulary_size = size;
  options.normalizer.lowercase = !cased;
  options.threads = common.threads;
  options.cancel = &interrupted();
  Status failure = ok_status();
  TextExample example;
  int64_t index = 0;
  bool second = false;
  const auto next = [&](std::string_view& text) {
    if (second && !example.text2.empty()) {
      second = false;
      text = example.text2;
      return true;
    }
    if (index == texts.size()) return false;
    Result<TextExample> read = texts.example(index++);
    if (!read.ok()) {
      failure = std::move(read).error();
      return false;
    }
    example = std::move(*read);
    second = true;
    progress.update(index, texts.size());
    text = example.text;
    return true;
  };
  Result<Tokenizer> trained = train_wordpiece(next, options);
  OCTET_TRY(std::move(failure));
  return trained;
}

} // namespace

void BertFlags::define(CLI::App& app) {
  app.add_option("--from", from_,
                 "start with this model: a folder of octet's or of Hugging Face's");
  app.add_option("--size", size_, "of a new model: tiny, mini, small, medium, base or large")
      ->capture_default_str();
  app.add_option("--vocab", vocabulary_,
                 "of a new model: folder, vocab.txt or tokenizer.json, or a number of entries to "
                 "learn from the texts (default 8000)");
  app.add_flag("--cased", cased_, "a learned vocabulary keeps upper case and accents");
  app.add_option("--max-length", max_length, "tokens of a text; longer ones are cut")
      ->check(CLI::Range(8, 1 << 16))
      ->capture_default_str();
  app.add_option("--dropout", dropout_, "probability in a new model, 0: none")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  app.add_flag("--no-token-types", no_token_types_, "no input token_type_ids");
}

Result<Tokenizer> BertFlags::tokenizer(const TextSource& texts, const Common& common) const {
  if (!from_.empty()) {
    if (!vocabulary_.empty())
      return error("--vocab is for new models; {} brings its own tokenizer", from_);
    return Tokenizer::load(from_);
  }
  const int64_t size = vocabulary_.empty() ? kDefaultVocabulary : as_number(vocabulary_);
  if (size == 0) return Tokenizer::load(vocabulary_);
  return learn_vocabulary(texts, size, cased_, common);
}

Result<BertTransfer> BertFlags::start(const BertOptions& head, const Common& common) const {
  std::error_code ignored;
  if (fs::exists(fs::path(from_) / "model.onnx", ignored) || from_.ends_with(".onnx")) {
    const Graph known = OCTET_TRY(open_model(from_));
    BertOptions options = OCTET_TRY_WITH(bert_options(known), from_);
    options.head = head.head;
    options.labels = head.labels;
    options.gather_masked = head.gather_masked;
    options.seed = common.seed;
    if (no_token_types_) options.token_type_input = false;
    return rebuild_bert(known, options).with(from_);
  }
  HuggingFaceImport options;
  options.head = head.head;
  options.labels = head.labels;
  options.gather_masked = head.gather_masked;
  options.token_type_input = !no_token_types_;
  options.seed = common.seed;
  ImportedModel model = OCTET_TRY(import_hugging_face(from_, options));
  return BertTransfer{std::move(model.graph), std::move(model.fresh)};
}

Result<Graph>
BertFlags::graph(BertOptions head, const Tokenizer& tokenizer, const Common& common) const {
  if (!from_.empty()) {
    BertTransfer model = OCTET_TRY(start(head, common));
    if (!model.fresh.empty())
      fmt::print(stderr, "starts with initial values: {}\n", join(model.fresh, ", "));
    return std::move(model.graph);
  }
  BertOptions options = OCTET_TRY(bert_size(size_));
  options.vocabulary = tokenizer.size();
  options.positions = std::max(options.positions, max_length);
  options.dropout = options.attention_dropout = dropout_;
  options.token_type_input = !no_token_types_;
  if (no_token_types_) options.type_vocabulary = 0;
  options.head = head.head;
  options.labels = std::move(head.labels);
  options.gather_masked = head.gather_masked;
  options.seed = common.seed;
  return make_bert(options);
}

Status write_bert(const Graph& graph,
                  const Tokenizer& tokenizer,
                  const TrainedModel& model,
                  const std::string& output,
                  const Common& common) {
  if (output.ends_with(".onnx")) return write_model(graph, output, common);
  ModelFolderWriter folder = OCTET_TRY(ModelFolderWriter::create(output, common.force));
  OCTET_TRY(folder.add_model(graph));
  OCTET_TRY(tokenizer.save(folder.path()));
  OCTET_TRY(folder.add_file("training.json", training_record(model, output) + "\n"));
  return folder.commit();
}

} // namespace octet::cli
