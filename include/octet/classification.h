// SPDX-License-Identifier: Apache-2.0
// How well a classifier does, beyond the share that is right, and whether two of them differ by
// more than chance.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "octet/dataset.h"
#include "octet/executor.h"
#include "octet/graph.h"

namespace octet {

/// What a classifier said of the examples of a data set.
struct Classification {
  std::vector<int64_t> labels, predictions; ///< one of each an example
  int64_t classes = 0;                      ///< of the model
  std::vector<float> probabilities;         ///< [example, class], if they were asked for
  int64_t not_numbers = 0;                  ///< examples with a score that is NaN
  double seconds = 0;                       ///< in the executor
  double accuracy() const;
  std::pair<double, double> interval() const; ///< 95 % of the accuracy (Wilson 1927)
};

/// Scores of classes as they come out: probabilities (of a softmax or a sigmoid), or logits.
enum class ScoreKind { kLogits, kProbabilities };
/// By what computes the first output.
ScoreKind score_kind(const Graph& graph);
/// f32[n, classes]: logits become the softmax of their row, unless a row is one of probabilities as
/// it is (within [0, 1], adding up to 1 within 1e-3). Errors: scores of another rank, no numbers.
Result<Tensor> probabilities(const Tensor& scores, ScoreKind kind);

struct ClassifyOptions {
  int64_t batch = 64;
  bool keep_probabilities = false;
  int64_t limit = 0; ///< examples, 0: all
  /// Returns false to stop, which is the error ErrorCode::kCancelled.
  std::function<bool(int64_t done, int64_t total)> progress;
};

/// Runs all examples; the prediction is the largest of the first output's scores [N, classes].
/// Errors: a data set without examples or labels, that does not fit the model's inputs, or with a
/// label that is no class of the model.
Result<Classification> classify(const Graph& graph,
                                Executor& executor,
                                const Dataset& data,
                                const ClassifyOptions& options = {});

/// Counts by [class that it is][class that was predicted].
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t classes);
  /// Errors: another number of predictions than labels, a class out of range.
  static Result<ConfusionMatrix>
  of(std::span<const int64_t> labels, std::span<const int64_t> predictions, int64_t classes);

  int64_t classes() const { return classes_; }
  int64_t total() const;
  int64_t at(int64_t label, int64_t prediction) const {
    return counts_[static_cast<size_t>(label * classes_ + prediction)];
  }
  double accuracy() const;
  /// Harmonic mean of precision and recall of one class; 0 when it is neither there nor predicted.
  double f1(int64_t of_class) const;
  /// Two classes: the F1 of class 1. More: the mean over the classes (macro F1).
  double f1() const;
  /// Matthews' correlation, for more than two classes as Gorodkin has it (2004); 0 when all labels
  /// or all predictions are one class.
  double matthews() const;

 private:
  int64_t row(int64_t label) const;
  int64_t column(int64_t prediction) const;

  int64_t classes_;
  std::vector<int64_t> counts_;
};

/// 95 % interval of a number computed from labels and predictions: percentiles of `resamples`
/// resamplings of the examples (the bootstrap of Efron, 1979), a function of the seed.
enum class ClassMetric { kF1, kMatthews };
Result<std::pair<double, double>> bootstrap_interval(ClassMetric metric,
                                                     std::span<const int64_t> labels,
                                                     std::span<const int64_t> predictions,
                                                     int64_t classes,
                                                     int64_t resamples = 1000,
                                                     uint64_t seed = 0);

/// McNemar's test of two models on the same examples (Psychometrika 12, 1947).
struct PairedTest {
  int64_t only_first = 0, only_second = 0; ///< right in one model and wrong in the other
  double difference = 0;                   ///< accuracy of the second minus that of the first
  std::pair<double, double> interval;      ///< 95 % of the difference (Agresti and Min 2005)
  double p_value = 1; ///< two-sided and exact, that models as good as each other differ so much
};
Result<PairedTest> mcnemar(std::span<const int64_t> labels,
                           std::span<const int64_t> first,
                           std::span<const int64_t> second);

} // namespace octet
