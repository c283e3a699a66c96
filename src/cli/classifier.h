// SPDX-License-Identifier: Apache-2.0
// A model that tells classes apart or gives numbers, ready to be asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

#include "octet/classification.h"
#include "octet/dataset.h"
#include "octet/executor.h"
#include "octet/graph.h"

namespace octet::cli {

/// What a row of a model's first output says.
enum class Answers {
  kClasses, ///< probabilities, of which one class is right
  kSeveral, ///< a probability of each class by itself
  kNumbers
};

class Classifier {
 public:
  /// `labels` is a file with a name for each class, one a line; empty: what the model says, else
  /// numbers. Errors: names that are more or fewer than the model's classes.
  static Result<Classifier> open(const std::string& model,
                                 const std::string& executor,
                                 const std::string& labels,
                                 const Common& common);

  const Graph& graph() const { return graph_; }
  Executor& executor() { return *executor_; }
  /// A name for each class; before the first run empty where only that tells how many there are.
  const std::vector<std::string>& classes() const { return classes_; }
  /// f32[n, classes] of a batch, or its numbers, f32[n, numbers]. Errors: an output that is neither.
  Result<Tensor> run(const Batch& batch);
  /// What these are, known once it has run: by the loss that the model was trained with, else by its
  /// first output (one column is a number, unless a sigmoid makes it the probability of class 1).
  Answers answers() const { return answers_; }

 private:
  Classifier() = default;
  Status name_classes(int64_t count);
  Answers answers_for(const Tensor& scores) const;

  std::string model_;
  Graph graph_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::string> classes_;
  ScoreKind kind_ = ScoreKind::kLogits;
  Answers answers_ = Answers::kClasses;
};

/// Whether a model takes tokens.
bool takes_texts(const Graph& graph);

} // namespace octet::cli
