// SPDX-License-Identifier: Apache-2.0
// Evaluating a model whose labels are numbers: those that it should compute, or 0 and 1 for each of
// several classes.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/evaluate.h"

namespace octet::cli {

struct NumberEvaluation {
  std::string model, executor;
  int64_t samples = 0, size_bytes = 0;
  double samples_per_second = 0;
  bool classes = false; ///< each number is a class of its own
  // Of numbers.
  double mean_square = 0, mean_absolute = 0;
  double explained = 0; ///< 1 - squared error / squared distance from the labels' mean (R^2)
  // Of classes.
  double accuracy = 0;               ///< of each label by itself
  double exact = 0;                  ///< examples of which all are right
  double micro_f1 = 0, macro_f1 = 0; ///< of all labels together; the mean over the classes
  /// What each example should give and gives, one row behind the other, if they were asked for.
  std::vector<double> wanted, given;
};

/// What each example of a batch should give, one behind the other; empty: it has no labels.
Result<std::vector<double>> number_labels(const Batch& batch);

/// Whether a model is held against numbers: labels of the data set are, or classes for an output of
/// one column.
Result<bool> has_number_labels(const Graph& graph, const Dataset& data);

/// Classes are told by the loss that the model was trained with, else where all labels are 0 or 1.
Result<NumberEvaluation> evaluate_numbers(const Graph& graph,
                                          Executor& executor,
                                          const Dataset& data,
                                          const EvalOptions& options);

void print_json(const std::vector<NumberEvaluation>& results);
void print_table(const std::vector<NumberEvaluation>& results, const Dataset& data);

} // namespace octet::cli
