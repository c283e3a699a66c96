// SPDX-License-Identifier: Apache-2.0
// What training minimizes: the terms of the loss, and what a teacher adds.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "octet/dataset.h"
#include "octet/train.h"

namespace octet::train {

/// Sums over one batch.
struct Sums {
  at::Tensor total; ///< differentiable: what backward starts from
  /// One number for each term; correct: labels that were met, or how far off numbers were.
  std::vector<at::Tensor> loss, correct;

  /// On the device in f64: losses of the terms, correct ones of the terms, the total.
  at::Tensor numbers() const;
};

class Objective {
 public:
  /// Cross-entropy reads the input of the Softmax or LogSoftmax over the last axis that makes an
  /// output, also when Q/DQ stand between them, since log-softmax of logits is accurate where the
  /// logarithm of a softmax is not; without one the output counts as logits. Binary cross-entropy
  /// does so with a Sigmoid. `probe` tells whether labels are classes or numbers.
  /// Errors: no such output or target, labels that the loss has no use for, a hidden value that only
  /// one of the graphs has.
  static Result<Objective>
  create(const Graph& graph, const TrainOptions& options, const Batch& probe);

  size_t terms() const { return terms_.size(); }
  const std::string& name(size_t term) const { return terms_[term].name; }
  LossKind kind() const { return terms_[0].spec.kind; }
  double weight(size_t term) const { return terms_[term].spec.weight; }
  /// The loss of a model that knows nothing; of unknown classes that of two.
  double guessing() const;
  /// Mean and deviation of labels that are numbers, known behind `learn_guessing`.
  std::pair<double, double> number_labels() const {
    return {terms_[0].mean, std::sqrt(terms_[0].variance)};
  }
  /// What it is for numbers follows from the data: the variance of some of them.
  Status learn_guessing(const Batch& some);
  /// Sums over a part of the data, as what is reported of a term.
  TermRecord record(size_t term, double loss, double correct, int64_t labels) const;
  int64_t classes() const { return terms_[0].classes; }
  /// What the program of the graph has to return: the terms' values, then hidden ones.
  const std::vector<ValueId>& wanted() const { return wanted_; }
  const std::vector<ValueId>& teacher_wanted() const { return teacher_wanted_; }

  /// The labels of each term, and how many of them count: of numbers each.
  struct Labels {
    std::vector<at::Tensor> targets; ///< i64 classes, or f32 numbers
    std::vector<double> counts;
  };
  /// In the host's memory. Errors: a target that the batch lacks.
  Result<Labels> labels(const Batch& batch) const;

  /// `counts` are over all that makes one step, so that the sum over its batches is the mean.
  /// `outputs` as `wanted`, `taught` as `teacher_wanted` (empty: without the teacher).
  Sums measure(const std::vector<at::Tensor>& outputs,
               const std::vector<at::Tensor>& taught,
               const Labels& labels,
               const std::vector<double>& counts) const;

 private:
  struct Term {
    LossTerm spec;
    std::string name;              ///< of the output
    int64_t classes = 0;           ///< size of the output's last axis; 0: not known
    bool numbers = false;          ///< labels are numbers, no classes
    double mean = 0, variance = 0; ///< of these
  };
  Status find_terms(const Graph& graph, const TrainOptions& options);
  Status choose_targets(const Batch& probe);
  Status check_term(const Graph& graph, const Term& term) const;
  Status find_teacher(const Graph& graph, const TeacherOptions& teacher);
  static Result<const octet::Tensor*> target_of(const Term& term, const Batch& batch);
  /// How many labels count. Errors: one that is no class of the term, or no number from 0 to 1 where
  /// the loss wants those.
  static Result<double> count(const Term& term, const octet::Tensor& labels);
  /// Sum over the rows with a label; adds loss and correct ones of the term to `sums`.
  at::Tensor
  term_sum(size_t term, const at::Tensor& output, const at::Tensor& targets, Sums& sums) const;
  at::Tensor divergence_sum(size_t term,
                            const at::Tensor& output,
                            const at::Tensor& taught,
                            const at::Tensor& targets) const;

  std::vector<Term> terms_;
  std::vector<ValueId> wanted_, teacher_wanted_;
  double smoothing_ = 0;
  TeacherOptions teacher_;
};

} // namespace octet::train
