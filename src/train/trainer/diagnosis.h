// SPDX-License-Identifier: Apache-2.0
// Looks at the history of a run and says what is wrong with it and what usually causes that.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "octet/train.h"

namespace octet::train {

/// What a run is, as far as causes and remedies depend on it.
struct RunFacts {
  int64_t classes = 0; ///< 0: not known, or no classes
  double max_lr = 0;
  int64_t steps = 0;         ///< so far
  bool keeps_best = false;   ///< the model of the best validation
  bool float_inputs = false; ///< rather than tokens
};

/// What the newest epoch of `history` shows; of the training loss nothing is said before it has had
/// some steps to fall.
std::vector<TrainFinding> diagnose(std::span<const EpochRecord> history, const RunFacts& run);

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
