// SPDX-License-Identifier: Apache-2.0
// Looks at the history of a run and says what is wrong with it and what usually causes that.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "octet/train.h"

namespace octet::train {

/// What is seen of a model whose loss does not move.
struct StallSigns {
  std::vector<std::string> dead; ///< Relu nodes that give 0 for every example
  double trained_share = 1;      ///< of the float parameters
  /// What steps at the highest rate can move weights by, over their size; 0: not known.
  double reach = 0;
};

/// What a run is, as far as causes and remedies depend on it.
struct RunFacts {
  int64_t classes = 0; ///< 0: not known, or no classes
  double chance = 0;   ///< the loss of guessing; 0: by `classes`, where they are known
  double max_lr = 0;
  int64_t steps = 0;         ///< so far
  bool keeps_best = false;   ///< the model of the best validation
  bool float_inputs = false; ///< rather than tokens
  /// Of labels that are numbers; deviation 0: they are none, or all are equal.
  double label_mean = 0, label_deviation = 0;
  /// The loss of the labels of a model that knows nothing, whatever else is learned beside them; 0:
  /// not known. A scale for losses, where the first batch may have been an easy one.
  double ignorance = 0;
  StallSigns stall = {};

  /// The loss of guessing; 0: not known.
  double guessing() const;
  /// Still there after an epoch of as many steps as suffice to tell.
  bool stalled(const EpochRecord& last) const;
};

/// What the newest epoch of `history` shows; of the training loss nothing is said before it has had
/// some steps to fall.
std::vector<TrainFinding> diagnose(std::span<const EpochRecord> history, const RunFacts& run);

/// Whether validation within one to three epochs shows a model that gets worse than it was.
std::optional<TrainFinding> gets_worse(std::span<const EvaluationRecord> evaluations,
                                       const RunFacts& run);

/// How low a loss was, so that a jump is told from a loss that was never low.
struct LowestLoss {
  double loss = 0;
  int64_t step = 0; ///< 0: none yet
};

/// Whether the loss of the last steps is far above one that it had, or rose from the start.
std::optional<TrainFinding> jumps(const std::vector<double>& recent,
                                  const LowestLoss& lowest,
                                  double first,
                                  int64_t epoch,
                                  int64_t step,
                                  const RunFacts& run);

/// Where a loss began, where it is, and what guessing gives.
struct LossCourse {
  double first = 0, now = 0, guessing = 0;

  /// Far above where it began and what guessing gives.
  double limit() const;
  /// Above that, or at guessing for a model that knew much better.
  bool diverged() const;
};

/// Keeps the losses of a few steps, so that one unlucky batch does not stand for the run.
void remember_loss(std::vector<double>& recent, double loss);
/// Their median; 0: none yet.
double typical_loss(std::vector<double> recent);

/// The finding for a loss that ends far above its beginning.
TrainFinding
diverged(int64_t epoch, int64_t step, const LossCourse& course, double max_lr, bool float_inputs);

/// The finding for a loss that is not finite.
TrainFinding not_finite(int64_t epoch, int64_t step, double loss, double lr, bool float_inputs);

} // namespace octet::train
