// SPDX-License-Identifier: Apache-2.0
// The state of a training run in a file: a safetensors file (8 bytes of header length, a JSON
// header, the tensors' bytes) whose metadata holds the counters. Random numbers need no state: they
// are functions of seed, epoch and step.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/trainer/identity.h"
#include <ATen/core/Tensor.h>

#include "octet/train.h"

namespace octet::train {

struct RunCounters {
  int64_t epoch = 0;                ///< finished epochs
  int64_t epoch_step = 0;           ///< finished steps of the running one
  int64_t step = 0;                 ///< finished steps
  int64_t skipped = 0;              ///< of them without effect, since a gradient overflowed
  double loss_sum = 0;              ///< over the examples of the running epoch
  int64_t seen = 0;                 ///< examples of the running epoch
  std::vector<double> term_loss;    ///< sums of the running epoch, term by term
  std::vector<double> term_correct; ///< right ones, or absolute errors
  std::vector<int64_t> term_labels;
  int64_t best_epoch = 0, best_step = 0;
  double best_score = 0, best_loss = 0;
  double first_loss = 0;             ///< of the first step
  std::vector<double> recent_losses; ///< of the last steps
  double lowest_loss = 0;            ///< of a few steps in a row
  int64_t lowest_step = 0;           ///< after which it was; 0: none yet
  int64_t since_best = 0;            ///< validations since the best one
  bool stopped = false;              ///< patience ran out
  double loss_scale = 1;
  int64_t loss_scale_steps = 0; ///< since it changed
  std::vector<EpochRecord> history;
  std::vector<EvaluationRecord> evaluations;
  std::vector<TrainFinding> findings;

  void start_epoch(size_t terms) {
    epoch_step = seen = 0;
    loss_sum = 0;
    term_loss.assign(terms, 0.0);
    term_correct.assign(terms, 0.0);
    term_labels.assign(terms, 0);
  }
};

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

Status save_checkpoint(const std::string& path,
                       const RunIdentity& identity,
                       const RunCounters& counters,
                       const NamedTensors& tensors);

/// Reads into `tensors`, which must have the names, types and shapes of the file. Errors: a damaged
/// file, a checkpoint of another run (what differs is named).
Result<RunCounters>
load_checkpoint(const std::string& path, const RunIdentity& identity, const NamedTensors& tensors);

} // namespace octet::train
