// SPDX-License-Identifier: Apache-2.0
// octet train vocabulary: learns a WordPiece vocabulary from text.
#include <cmath>
#include <filesystem>
#include <optional>

#include "cli/bert_training.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "data/gzip.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/tokenizer.h"

namespace octet::cli {
namespace {

/// What a compressed file may grow to.
constexpr size_t kMaxCorpusBytes = size_t{1} << 40;

/// Lines of several files, one after the other. The first failure ends them and is kept.
class Lines {
 public:
  Lines(std::vector<std::string> files, int64_t column)
      : files_(std::move(files)), column_(column) {}

  bool next(std::string_view& line) {
    while (true) {
      const size_t end = buffer_.find('\n', at_);
      if (end != std::string::npos) {
        line = cut(std::string_view(buffer_).substr(at_, end - at_));
        at_ = end + 1;
        return true;
      }
      if (fill()) continue;
      if (!failure_.ok() || at_ == buffer_.size()) return false;
      line = cut(std::string_view(buffer_).substr(at_));
      at_ = buffer_.size();
      return true;
    }
  }
  const Status& status() const { return failure_; }
  /// Bytes of the files read so far, as they lie on the disk.
  int64_t consumed() const {
    return done_bytes_ + (file_ ? static_cast<int64_t>(file_->consumed()) : 0);
  }

 private:
  /// Reads on; false: there is no more.
  bool fill() {
    constexpr size_t kBlock = size_t{1} << 20;
    while (true) {
      if (!file_) {
        // A file's last line may lack its end.
        if (at_ < buffer_.size() && file_count_ > 0 && file_count_ < files_.size() &&
            buffer_.back() != '\n') {
          buffer_ += '\n';
          return true;
        }
        if (file_count_ == files_.size()) return false;
        Result<DataFile> opened = DataFile::open(files_[file_count_++], kMaxCorpusBytes);
        if (!opened.ok()) return fail(std::move(opened).error());
        file_.emplace(std::move(*opened));
      }
      buffer_.erase(0, at_);
      at_ = 0;
      const size_t before = buffer_.size();
      buffer_.resize(before + kBlock);
      const Result<size_t> got =
          file_->read(std::as_writable_bytes(std::span(buffer_).subspan(before)));
      buffer_.resize(before + (got.ok() ? *got : 0));
      if (!got.ok()) return fail(Error(got.error()).with(files_[file_count_ - 1]));
      if (*got > 0) return true;
      done_bytes_ += static_cast<int64_t>(file_->file_bytes());
      file_.reset();
    }
  }
  bool fail(Error error) {
    failure_ = std::move(error);
    at_ = buffer_.size();
    file_count_ = files_.size();
    return false;
  }
  /// The column that was asked for; empty when the line has fewer.
  std::string_view cut(std::string_view line) const {
    for (int64_t i = 1; i < column_; ++i) {
      const size_t tab = line.find('\t');
      if (tab == std::string_view::npos) return {};
      line.remove_prefix(tab + 1);
    }
    return column_ > 0 ? line.substr(0, line.find('\t')) : line;
  }

  std::vector<std::string> files_;
  int64_t column_;
  size_t file_count_ = 0;
  int64_t done_bytes_ = 0;
  std::optional<DataFile> file_;
  std::string buffer_;
  size_t at_ = 0;
  Status failure_ = ok_status();
};

class TrainVocabulary final : public Command {
 public:
  std::string_view name() const override { return "train vocabulary"; }
  std::string_view summary() const override { return "learn a WordPiece vocabulary from text"; }
  std::string_view example() const override {
    return "octet train vocabulary --text corpus.txt --size 8000 -o vocabulary/";
  }

  void define(CLI::App& app) override {
    add_list_option(app, "--text", files_,
                    "text files, plain or gzipped, a line is a text; or kind:path of docs/data.md")
        ->required();
    add_count_option(app, "--column", column_,
                     "read this tab-separated column, from 1; 0: whole lines");
    add_count_option(app, "--size", options_.vocabulary_size, "entries, special tokens included",
                     {1})
        ->capture_default_str();
    app.add_option("-o,--output", output_, "folder for the tokenizer's files")->required();
    add_count_option(app, "--min-frequency", options_.min_frequency, "rarer pairs are not joined",
                     {1})
        ->capture_default_str();
    app.add_flag("--cased", cased_, "keep upper case and accents");
    app.add_flag("--likelihood", options_.likelihood,
                 "join by freq(ab) / (freq(a) freq(b)) instead of freq(ab)");
  }

  Result<Answer> run(const Common& common) override {
    for (const char* name : {"vocab.txt", "tokenizer.json", "tokenizer_config.json"})
      OCTET_TRY(check_unused((std::filesystem::path(output_) / name).string(), files_, common));
    const std::string vocabulary = (std::filesystem::path(output_) / "vocab.txt").string();
    std::error_code ignored;
    if (!common.force && std::filesystem::exists(vocabulary, ignored))
      return error("{} exists; name another folder or give --force", vocabulary);
    const Tokenizer tokenizer = OCTET_TRY(learn(common));
    OCTET_TRY(tokenizer.save(output_));
    if (common.json) {
      const nlohmann::ordered_json out = {
          {"folder", output_}, {"entries", tokenizer.size()}, {"hash", tokenizer.hash()}};
      fmt::print("{}\n", json_text(out));
    } else {
      fmt::print("{}  {} entries\n", output_, tokenizer.size());
    }
    return Answer::kDone;
  }

 private:
  Result<Tokenizer> learn(const Common& common) const {
    std::error_code ignored;
    if (files_.size() == 1 && is_text_spec(files_[0]) &&
        !std::filesystem::exists(files_[0], ignored)) {
      if (column_ > 0) return error("--column is for files; {} knows its texts", files_[0]);
      WordPieceTrainOptions options = options_;
      options.normalizer.lowercase = !cased_;
      return learn_vocabulary(*OCTET_TRY(open_corpus(files_[0], Split::kTrain)), options, common);
    }
    Lines lines(files_, column_);
    Result<Tokenizer> trained = learn(lines, common);
    OCTET_TRY(Status(lines.status()));
    return trained;
  }

  Result<Tokenizer> learn(Lines& lines, const Common& common) const {
    int64_t total = 0;
    for (const std::string& file : files_) {
      std::error_code ignored;
      const auto bytes = static_cast<int64_t>(std::filesystem::file_size(file, ignored));
      total += ignored ? 0 : bytes; // a file that cannot be opened is an error of its own
    }
    ProgressLine reading("read", "kB");
    ProgressLine joining("join", "entries");
    const Interruptible interruptible;
    WordPieceTrainOptions options = options_;
    options.normalizer.lowercase = !cased_;
    options.threads = common.threads;
    options.cancel = &interruptible.token();
    options.on_progress = [&, begun = false](double share) mutable {
      if (!begun) joining.restart("join");
      begun = true;
      const auto size = static_cast<double>(options_.vocabulary_size);
      joining.update(std::llround(share * size), options_.vocabulary_size);
    };
    int64_t shown = -1;
    const auto next = [&](std::string_view& text) {
      if (lines.consumed() != shown) reading.update(lines.consumed() / 1000, total / 1000);
      shown = lines.consumed();
      return lines.next(text);
    };
    return train_wordpiece(next, options);
  }

  std::vector<std::string> files_;
  std::string output_;
  WordPieceTrainOptions options_;
  int64_t column_ = 0;
  bool cased_ = false;
};

} // namespace

Command& train_vocabulary_command() {
  static TrainVocabulary command;
  return command;
}

} // namespace octet::cli
