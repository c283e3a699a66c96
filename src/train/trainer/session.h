// SPDX-License-Identifier: Apache-2.0
// The state of one training run: program, optimizer, counters, the best model so far.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "train/executor/program.h"
#include "train/trainer/batches.h"
#include "train/trainer/checkpoint.h"
#include "train/trainer/loss.h"
#include "train/trainer/optimizer.h"

namespace octet::train {

class TrainSession {
 public:
  TrainSession(Graph graph,
               const Dataset& examples,
               const Dataset* validation,
               const TrainOptions& options)
      : graph_(std::move(graph)), examples_(examples), validation_(validation), options_(options) {}

  /// Builds the program and, when resuming, reads the checkpoint.
  Status prepare(int threads);
  /// Runs what is left. kCancelled never leaves it: the report says so.
  Result<TrainedModel> run();

 private:
  enum class Outcome { kDone, kCancelled, kNotFinite };

  Result<Outcome> run_epoch();
  Result<Outcome> run_step(std::span<const int64_t> indices);
  Status backward(const LossValue& value);
  Status end_epoch(double train_seconds);
  Status validate(EpochRecord& record);
  void find(TrainFinding finding);
  void report_missing_gradients();
  void keep_best(const EpochRecord& record);
  void restore_best();
  NamedTensors state();
  Status save();
  void scalar(std::string_view tag, int64_t step, double value) const;
  TrainProgress progress(double seconds) const;
  Result<TrainedModel> finish(Outcome outcome);

  Graph graph_;
  const Dataset& examples_;
  const Dataset* validation_;
  const TrainOptions& options_;

  std::unique_ptr<Program> program_;
  std::unique_ptr<Optimizer> optimizer_;
  LossPlan loss_;
  std::string identity_;
  std::vector<int64_t> kept_, held_out_; ///< indices to train on and to validate on
  int64_t epoch_steps_ = 0, steps_ = 0;
  RunCounters counters_;
  std::vector<at::Tensor> best_; ///< trained constants, then statistics
  int64_t resumed_from_ = 0;
  double last_loss_ = 0, last_lr_ = 0;
  bool gradients_checked_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  int64_t epoch_seen_here_ = 0; ///< examples of the running epoch in this process
};

} // namespace octet::train
