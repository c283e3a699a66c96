// SPDX-License-Identifier: Apache-2.0
// What training a BERT for a task and pretraining one share: where the tokenizer and the first
// weights come from, and the folder that is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/training.h"

#include "octet/bert.h"
#include "octet/text_source.h"
#include "octet/tokenizer.h"

namespace octet::cli {

class BertFlags {
 public:
  explicit BertFlags(std::string size) : size_(std::move(size)) {}
  void define(CLI::App& app);
  /// Errors: options of new models beside --from.
  Status check() const;
  /// Tokens of a row: as given, else 128 or as many as the model has positions.
  int64_t row_length(const Graph& graph) const;
  /// What the training record says of these options.
  std::vector<RunSetting> settings(const Graph& graph) const;
  /// Of `--from` or `--vocab`; a number there learns a vocabulary of that size from the texts.
  Result<Tokenizer> tokenizer(const TextSource& texts, const Common& common) const;
  /// The graph with this head: the weights of `--from`, else new ones of `--size`. Says what has
  /// initial values.
  Result<Graph> graph(BertOptions head, const Tokenizer& tokenizer, const Common& common) const;

  /// What is read: `data`, and what these options name.
  UsedFiles used_files(const std::string& data) const { return {data, from_, vocabulary_}; }

  /// Whether no weights are taken from elsewhere.
  bool is_new() const { return from_.empty(); }

 private:
  Result<BertTransfer> start(const BertOptions& head, const Common& common) const;

  int64_t max_length_ = 128;
  const CLI::Option *length_option_ = nullptr, *size_option_ = nullptr, *dropout_option_ = nullptr;
  std::string from_, size_, vocabulary_;
  bool no_token_types_ = false, cased_ = false;
  double dropout_ = 0.1;
};

/// Learns from all texts of a source, with progress.
Result<Tokenizer>
learn_vocabulary(const TextSource& texts, WordPieceTrainOptions options, const Common& common);

/// Whether write_bert makes a folder of it.
bool is_bert_folder(const std::string& output);

/// A model folder with the tokenizer, the length of its rows and the training record; a path that
/// ends in .onnx gets the model alone.
Status write_bert(Graph graph,
                  const Tokenizer& tokenizer,
                  int64_t row_length,
                  const std::string& record,
                  const std::string& output,
                  const Common& common);

} // namespace octet::cli
