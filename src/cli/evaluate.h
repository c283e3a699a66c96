// SPDX-License-Identifier: Apache-2.0
// Evaluating one model on a data set: accuracy, speed and what it predicted.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

#include "octet/classification.h"
#include "octet/dataset.h"
#include "octet/executor.h"
#include "octet/graph.h"

namespace octet::cli {

struct EvalOptions {
  int64_t batch = 64;
  int64_t limit = 0;               ///< examples, 0: all
  int64_t latency_runs = 200;      ///< of one example each, or the batch that the graph fixes
  bool keep_probabilities = false; ///< or the numbers of a model that has no classes
};

struct Evaluation {
  std::string model, executor;
  double accuracy = 0;
  std::pair<double, double> interval;
  int64_t samples = 0;
  int64_t size_bytes = 0;
  double latency_ms_median = 0, latency_ms_p99 = 0, samples_per_second = 0;
  std::vector<int64_t> predictions, labels;
  std::vector<float> probabilities; ///< [example, class], if they were asked for
  int64_t not_numbers = 0; ///< examples with a score that is NaN: their predictions mean nothing
  double f1 = 0, matthews = 0; ///< see octet/classification.h
  std::pair<double, double> f1_interval, matthews_interval;
  PairedTest against_first; ///< this model beside the first one of the table
};

/// Accuracy counts the largest of the first output's scores against the labels. Errors: a data set
/// without labels or that does not fit the model's inputs.
Result<Evaluation>
evaluate(const Graph& graph, Executor& executor, const Dataset& data, const EvalOptions& options);

/// Fills `against_first` of every evaluation. Errors: evaluations of different examples.
Status compare_with_first(std::vector<Evaluation>& evaluations);

/// Share of predictions that differ; -1 when the counts differ.
double changed_share(const Evaluation& a, const Evaluation& b);

} // namespace octet::cli
