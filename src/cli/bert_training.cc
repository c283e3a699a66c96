// SPDX-License-Identifier: Apache-2.0
#include "cli/bert_training.h"

#include <algorithm>
#include <filesystem>

#include "cli/history.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "models/bert_config.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/hugging_face.h"
#include "octet/model_folder.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDefaultVocabulary = 8000;

constexpr size_t kMaxConfigBytes = size_t{16} << 20;

/// Where Hugging Face's tokenizers keep the length that rows are cut to.
Status add_length(ModelFolderWriter& folder, int64_t row_length) {
  constexpr const char* kConfig = "tokenizer_config.json";
  const std::string path = (fs::path(folder.path()) / kConfig).string();
  nlohmann::json json =
      OCTET_TRY_WITH(parse_json(OCTET_TRY(read_file(path, kMaxConfigBytes))), path);
  if (!json.is_object()) return ok_status();
  json["model_max_length"] = row_length;
  return folder.add_file(kConfig, json_text(json) + "\n");
}

/// A classifier goes on with its classes in the order in which the data has them; of another number
/// of classes it is made anew.
Status check_head(const BertOptions& known, const std::string& from, const BertOptions& head) {
  if (head.head != BertHead::kClassification || known.head != head.head ||
      known.labels.size() != head.labels.size())
    return ok_status();
  return check_classes(known.labels, from, head.labels, "the data set");
}

/// What config.json says of a model of Hugging Face's.
Result<BertOptions> read_config(const std::string& folder) {
  const std::string path = (fs::path(folder) / "config.json").string();
  return parse_bert_config(OCTET_TRY(read_file(path, kMaxConfigBytes))).with(path);
}

} // namespace

Result<Tokenizer>
learn_vocabulary(const TextSource& texts, WordPieceTrainOptions options, const Common& common) {
  ProgressLine progress("vocabulary", "texts");
  const Interruptible interruptible;
  options.threads = common.threads;
  options.cancel = &interruptible.token();
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

void BertFlags::define(CLI::App& app) {
  app.add_option("--from", from_,
                 "start with this model: a folder of octet's or of Hugging Face's");
  size_option_ = app.add_option("--size", size_,
                                "of a new model: tiny, mini, small, medium, base, large, or layers "
                                "and hidden size as 6x384")
                     ->capture_default_str();
  app.add_option("--vocab", vocabulary_,
                 "of a new model: folder, vocab.txt or tokenizer.json, or a number of entries to "
                 "learn from the texts (default 8000)");
  app.add_flag("--cased", cased_, "a learned vocabulary keeps upper case and accents");
  length_option_ = add_count_option(app, "--max-length", max_length_,
                                    "tokens of a text; longer ones are cut", {8, 1 << 16})
                       ->capture_default_str();
  dropout_option_ =
      add_number_option(app, "--dropout", dropout_, "probability in a new model, 0: none", 0.0, 0.9)
          ->capture_default_str();
  app.add_flag("--no-token-types", no_token_types_, "no input token_type_ids");
}

Status BertFlags::check() const {
  if (from_.empty()) {
    if (cased_ && !vocabulary_.empty() && whole_number(vocabulary_) == 0)
      return error("--cased is for a vocabulary that is learned; {} is what it is", vocabulary_);
    return ok_status();
  }
  std::error_code ignored;
  if (!fs::exists(from_, ignored))
    return error(ErrorCode::kNotFound,
                 "{}: there is no such folder; octet import hf owner/name -o {} downloads a "
                 "pretrained encoder",
                 from_, from_);
  if (!vocabulary_.empty() || cased_)
    return error("--{} is for new models; {} brings its own tokenizer", cased_ ? "cased" : "vocab",
                 from_);
  for (const CLI::Option* option : {size_option_, dropout_option_})
    if (option->count() > 0)
      return error("{} is for new models; {} brings its own", option->get_name(), from_);
  return ok_status();
}

int64_t BertFlags::row_length(const Graph& graph) const {
  const Result<BertOptions> bert = bert_options(graph);
  if (length_option_->count() > 0 || !bert.ok()) return max_length_;
  return std::min(max_length_, bert->positions);
}

std::vector<RunSetting> BertFlags::settings(const Graph& graph) const {
  std::vector<RunSetting> out = {{"max length", std::to_string(row_length(graph))}};
  if (!from_.empty()) {
    out.push_back({"from", from_});
    return out;
  }
  out.push_back({"size", size_});
  out.push_back({"vocabulary", vocabulary_.empty() ? "learned" : vocabulary_});
  out.push_back({"dropout", fmt::format("{}", dropout_)});
  return out;
}

Result<Tokenizer> BertFlags::tokenizer(const TextSource& texts, const Common& common) const {
  if (!from_.empty()) return Tokenizer::load(from_);
  const int64_t size = vocabulary_.empty() ? kDefaultVocabulary : whole_number(vocabulary_);
  if (size == 0) return Tokenizer::load(vocabulary_);
  WordPieceTrainOptions options;
  options.vocabulary_size = size;
  options.normalizer.lowercase = !cased_;
  return learn_vocabulary(texts, options, common);
}

Result<BertTransfer> BertFlags::start(const BertOptions& head, const Common& common) const {
  std::error_code ignored;
  if (fs::exists(fs::path(from_) / "model.onnx", ignored) || from_.ends_with(".onnx")) {
    const Graph known = OCTET_TRY(open_model(from_));
    BertOptions options = OCTET_TRY_WITH(bert_options(known), from_);
    OCTET_TRY(check_float(known, from_, "training starts from the float model that it came from"));
    OCTET_TRY(check_head(options, from_, head));
    options.head = head.head;
    options.labels = head.labels;
    options.gather_masked = head.gather_masked;
    options.seed = common.seed;
    if (no_token_types_) options.token_type_input = false;
    return rebuild_bert(known, options).with(from_);
  }
  if (head.head == BertHead::kClassification)
    OCTET_TRY(check_head(OCTET_TRY(read_config(from_)), from_, head));
  HuggingFaceImport options;
  options.head = head.head;
  options.labels = head.labels;
  options.gather_masked = head.gather_masked;
  options.token_type_input = !no_token_types_;
  options.seed = common.seed;
  ImportedModel model = OCTET_TRY(import_hugging_face(from_, options));
  model.fresh.insert(model.fresh.end(), model.replaced.begin(), model.replaced.end());
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
  options.positions = std::max(options.positions, max_length_);
  options.dropout = options.attention_dropout = dropout_;
  options.token_type_input = !no_token_types_;
  if (no_token_types_) options.type_vocabulary = 0;
  options.head = head.head;
  options.labels = std::move(head.labels);
  options.gather_masked = head.gather_masked;
  options.seed = common.seed;
  return make_bert(options);
}

bool is_bert_folder(const std::string& output) {
  return !output.ends_with(".onnx");
}

Status write_bert(Graph graph,
                  const Tokenizer& tokenizer,
                  int64_t row_length,
                  const std::string& record,
                  const std::string& output,
                  const Common& common) {
  set_trained_length(graph, row_length);
  if (!is_bert_folder(output)) return write_model(graph, output, common, {}, record);
  append_history(graph, common, {}, history_facts(record));
  ModelFolderWriter folder = OCTET_TRY(ModelFolderWriter::create(output, common.force));
  OCTET_TRY(folder.add_model(graph));
  OCTET_TRY(tokenizer.save(folder.path()));
  OCTET_TRY(add_length(folder, row_length));
  OCTET_TRY(folder.add_file("training.json", record + "\n"));
  return folder.commit();
}

} // namespace octet::cli
