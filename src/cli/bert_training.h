// SPDX-License-Identifier: Apache-2.0
// What training a BERT for a task and pretraining one share: where the tokenizer and the first
// weights come from, and the folder that is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/training.h"

#include "octet/bert.h"
#include "octet/text_source.h"
#include "octet/tokenizer.h"

namespace octet::cli {

class BertFlags {
 public:
  explicit BertFlags(std::string size) : size_(std::move(size)) {}
  void define(CLI::App& app);
  /// Of `--from` or `--vocab`; a number there learns a vocabulary of that size from the texts.
  Result<Tokenizer> tokenizer(const TextSource& texts, const Common& common) const;
  /// The graph with this head: the weights of `--from`, else new ones of `--size`. Says what has
  /// initial values.
  Result<Graph> graph(BertOptions head, const Tokenizer& tokenizer, const Common& common) const;

  /// Whether no weights are taken from elsewhere.
  bool is_new() const { return from_.empty(); }

  int64_t max_length = 128;

 private:
  Result<BertTransfer> start(const BertOptions& head, const Common& common) const;

  std::string from_, size_, vocabulary_;
  bool no_token_types_ = false, cased_ = false;
  double dropout_ = 0.1;
};

/// A model folder with the tokenizer and the training record; a path that ends in .onnx gets the
/// model alone.
Status write_bert(const Graph& graph,
                  const Tokenizer& tokenizer,
                  const TrainedModel& model,
                  const std::string& output,
                  const Common& common);

} // namespace octet::cli
