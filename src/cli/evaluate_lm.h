// SPDX-License-Identifier: Apache-2.0
// Evaluating language models: masked tokens and next sentences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/evaluate.h"
#include "cli/evaluation_table.h"

#include "octet/masked_tokens.h"

namespace octet::cli {

struct LmEvaluation {
  std::string model, executor;
  int64_t samples = 0, size_bytes = 0;
  MaskedTokens masked;
  Classification next; ///< of next sentences; without labels: it guesses none
  /// This model beside the first one of the table, where both saw the same tokens and pairs.
  std::optional<PairedTest> masked_against_first, next_against_first;
  double tokens_per_second = 0; ///< of rows as they are run, padding included
};

/// Errors: a data set without targets or that does not fit the model.
Result<LmEvaluation> evaluate_language_model(const Graph& graph,
                                             Executor& executor,
                                             const Dataset& data,
                                             const EvalOptions& options);

/// Fills the paired tests.
Status compare_with_first(std::vector<LmEvaluation>& results);

/// Masked tokens: shares, loss and perplexity.
EvaluationTable masked_table(const std::vector<LmEvaluation>& results);
/// Next sentences, size and speed.
EvaluationTable next_table(const std::vector<LmEvaluation>& results);
/// Each model against the first, where both saw the same tokens and pairs.
EvaluationTable pairs_table(const std::vector<LmEvaluation>& results);

void print_json(const std::vector<LmEvaluation>& results);
void print_table(const std::vector<LmEvaluation>& results, const Dataset& data);

} // namespace octet::cli
