// SPDX-License-Identifier: Apache-2.0
// What a language model puts in the place of each [MASK] of a text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

#include "octet/executor.h"
#include "octet/graph.h"
#include "octet/tokenizer.h"

namespace octet::cli {

struct Guess {
  int32_t token;
  double probability;
};
struct Masked {
  size_t position; ///< among the tokens
  std::vector<Guess> guesses;
};
struct MaskedText {
  Encoding text;
  std::vector<Masked> masks;
};

class MaskFiller {
 public:
  /// The graph outlives it. Errors: a model without mlm_logits, a vocabulary without [MASK] or of
  /// another model.
  static Result<MaskFiller> create(const Graph& graph, Tokenizer tokenizer);

  /// The `top` likeliest tokens for each [MASK]. Errors: a text without one, or too long.
  Result<MaskedText> fill(Executor& executor, const std::string& text, int top) const;
  /// The text with one guess in the place of one [MASK]; the others stay.
  std::string filled(const Encoding& text, size_t position, int32_t token) const;
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  MaskFiller(const Graph& graph, Tokenizer tokenizer, size_t output)
      : graph_(&graph), tokenizer_(std::move(tokenizer)), output_(output) {}
  const Graph* graph_;
  Tokenizer tokenizer_;
  size_t output_;
};

} // namespace octet::cli
