// SPDX-License-Identifier: Apache-2.0
// Evaluating language models: masked tokens and next sentences.
#pragma once

#include <string>
#include <vector>

#include "cli/evaluate.h"

#include "octet/masked_tokens.h"

namespace octet::cli {

struct LmEvaluation {
  std::string model, executor;
  int64_t samples = 0, size_bytes = 0;
  MaskedTokens masked;
  int64_t next_sentences = 0, next_sentence_hits = 0;
  double tokens_per_second = 0; ///< of rows as they are run, padding included
};

/// Errors: a data set without targets or that does not fit the model.
Result<LmEvaluation> evaluate_language_model(const Graph& graph,
                                             Executor& executor,
                                             const Dataset& data,
                                             const EvalOptions& options);

void print_json(const std::vector<LmEvaluation>& results);
void print_table(const std::vector<LmEvaluation>& results, const Dataset& data);

} // namespace octet::cli
