// SPDX-License-Identifier: Apache-2.0
// octet tokenize: the token ids of each line of text.
#include <iostream>
#include <iterator>

#include "cli/command.h"
#include "cli/options.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/tensor.h"
#include "octet/tokenizer.h"

namespace octet::cli {
namespace {

/// Lines are encoded and printed in portions of so many.
constexpr size_t kPortion = 4096;

class Tokenize final : public Command {
 public:
  std::string_view name() const override { return "tokenize"; }
  std::string_view summary() const override {
    return "token ids of each line of text; of a data set: octet data export";
  }
  std::string_view example() const override {
    return "octet tokenize --vocab vocab.txt reviews.txt";
  }

  void define(CLI::App& app) override {
    add_list_argument(app, "files", files_, "text files, - for standard input");
    app.add_option("--vocab", vocabulary_, "vocab.txt, tokenizer.json or a folder with one")
        ->required();
    app.add_flag("--pairs", pairs_, "a line is two texts with a tab between them");
    add_count_option(app, "--max-length", options_.max_length,
                     "tokens of a line at most, 0: no limit");
    app.add_flag("!--no-special-tokens", options_.special_tokens, "no [CLS] and [SEP]");
    app.add_flag("--tokens", tokens_, "the tokens themselves instead of their ids");
  }

  Result<Answer> run(const Common& common) override {
    const Tokenizer tokenizer = OCTET_TRY(Tokenizer::load(vocabulary_));
    options_.offsets = common.json;
    for (const std::string& file : files_) {
      if (file == "-") {
        const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
        OCTET_TRY_WITH(print_lines(tokenizer, text, common), "standard input");
        continue;
      }
      const std::shared_ptr<Buffer> buffer = OCTET_TRY(Buffer::map(file));
      const std::string_view text(reinterpret_cast<const char*>(buffer->bytes().data()),
                                  buffer->bytes().size());
      OCTET_TRY_WITH(print_lines(tokenizer, text, common), file);
    }
    return Answer::kDone;
  }

 private:
  Status print_lines(const Tokenizer& tokenizer, std::string_view text, const Common& common) {
    const Interruptible interruptible;
    size_t line = 0;
    while (!text.empty()) {
      std::vector<std::string_view> first;
      std::vector<std::string_view> second;
      while (!text.empty() && first.size() < kPortion) {
        const size_t end = std::min(text.find('\n'), text.size());
        first.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++line;
        if (!pairs_) continue;
        const size_t tab = first.back().find('\t');
        if (tab == std::string_view::npos)
          return error("line {} has no tab; with --pairs it is two texts with a tab between them",
                       line);
        second.push_back(first.back().substr(tab + 1));
        first.back() = first.back().substr(0, tab);
      }
      const std::vector<Encoding> encodings =
          pairs_ ? tokenizer.encode_batch(first, second, options_, common.threads)
                 : tokenizer.encode_batch(first, options_, common.threads);
      fmt::memory_buffer out;
      for (const Encoding& encoding : encodings)
        common.json ? append_json(out, tokenizer, encoding) : append_ids(out, tokenizer, encoding);
      std::fwrite(out.data(), 1, out.size(), stdout);
      OCTET_TRY(interruptible.check());
    }
    return ok_status();
  }

  void append_ids(fmt::memory_buffer& out, const Tokenizer& tokenizer, const Encoding& e) const {
    for (size_t i = 0; i < e.ids.size(); ++i) {
      const std::string_view space = i == 0 ? "" : " ";
      if (tokens_) {
        fmt::format_to(std::back_inserter(out), "{}{}", space, tokenizer.token(e.ids[i]));
      } else {
        fmt::format_to(std::back_inserter(out), "{}{}", space, e.ids[i]);
      }
    }
    out.push_back('\n');
  }

  /// An object a line, with Hugging Face's names.
  static void append_json(fmt::memory_buffer& out, const Tokenizer& tokenizer, const Encoding& e) {
    nlohmann::ordered_json line;
    line["ids"] = e.ids;
    line["type_ids"] = e.type_ids;
    line["special_tokens_mask"] = e.special;
    line["tokens"] = nlohmann::ordered_json::array();
    line["offsets"] = nlohmann::ordered_json::array();
    for (size_t i = 0; i < e.ids.size(); ++i) {
      line["tokens"].push_back(tokenizer.token(e.ids[i]));
      line["offsets"].push_back({e.offsets[i].begin, e.offsets[i].end});
    }
    const std::string text = json_text(line, -1) + "\n";
    out.append(text.data(), text.data() + text.size());
  }

  std::vector<std::string> files_;
  std::string vocabulary_;
  EncodeOptions options_;
  bool pairs_ = false, tokens_ = false;
};

} // namespace

Command& tokenize_command() {
  static Tokenize command;
  return command;
}

} // namespace octet::cli
