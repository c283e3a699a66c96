// SPDX-License-Identifier: Apache-2.0
// The state of one training run: program, optimizer, counters, the best model so far.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/read_ahead.h"
#include "train/distributed/peers.h"
#include "train/executor/program.h"
#include "train/trainer/batches.h"
#include "train/trainer/checkpoint.h"
#include "train/trainer/diagnosis.h"
#include "train/trainer/groups.h"
#include "train/trainer/objective.h"
#include "train/trainer/optimizer.h"
#include "train/trainer/precision.h"

namespace octet::train {

/// Where a run's tensors lie, and how its host gets to know what was measured there.
struct SessionPlace {
  c10::Device device{c10::kCPU};
  /// The host reads losses and counts after so many steps at most: reading waits for a device.
  int64_t reads_every = 1;
  /// The one way by which numbers come to the host while steps run.
  std::function<at::Tensor(const at::Tensor&)> read = [](const at::Tensor& t) {
    return t.to(at::kCPU);
  };
};

class TrainSession {
 public:
  TrainSession(Graph graph,
               const Dataset& examples,
               const Dataset* validation,
               const TrainOptions& options,
               SessionPlace place)
      : graph_(std::move(graph)), all_(examples), given_validation_(validation), options_(options),
        place_(std::move(place)), loss_scale_(options.precision, place_.device) {}

  /// Builds the program, meets the other processes and, when resuming, reads the checkpoint.
  Status prepare(int threads);
  /// Runs what is left. kCancelled never leaves it: the report says so.
  Result<TrainedModel> run();

 private:
  enum class Outcome { kDone, kCancelled, kNotFinite, kStopped };

  // Setting up, in session_prepare.cc.
  Status split_examples();
  /// A graph that fixes its batch fits no other, and not the rest of the examples.
  Status check_batches() const;
  Status build_programs(const std::vector<Parameter>& parameters);
  /// What guessing gives where labels are numbers, from some of them.
  Status learn_guessing();
  Status resume();
  /// Sets the scales that LSQ trains by the first batch.
  Status start_scales();
  Status meet(int threads);
  BatchUse batch_use(const Graph* teacher) const {
    return {&graph_, teacher, &objective_, place_.device};
  }
  Result<TorchBatch>
  read(const Dataset& data, const Graph* teacher, std::span<const int64_t> indices, int64_t epoch);

  /// What a step measured, in the device's memory until the host reads it.
  struct StepRecord {
    at::Tensor numbers;         ///< as Sums::numbers, over this process's batches
    std::vector<double> counts; ///< labels of each term, over all processes
    double examples = 0;        ///< in this process
    int64_t step = 0;           ///< steps before it
    double lr = 0, lr_before = 0;
  };
  using BatchReader = ReadAhead<TorchBatch>;

  // Steps, in session.cc.
  Result<Outcome> run_epoch();
  /// The next `own` batches of the reader.
  Result<Outcome> run_step(BatchReader& reader, size_t own);
  Result<std::vector<double>> counts_of_step(const std::vector<TorchBatch>& batches);
  /// Adds the batch's numbers to `numbers`.
  Status run_batch(TorchBatch batch,
                   const std::vector<double>& counts,
                   int64_t number,
                   at::Tensor& numbers);
  Status finish_step();
  Status apply_gradients();
  Status share_gradients();
  Status advance_fp8();
  std::vector<int64_t> epoch_order() const;
  /// That share of the steps is done; never where it is 1.
  bool is_behind(double share) const;
  void follow_scales();
  Result<Outcome> after_step();

  // What was measured, in session_numbers.cc.
  bool must_read() const;
  /// Reads what is unread. kNotFinite: at a step of these the loss was no number.
  Result<Outcome> read_numbers();
  void account(const StepRecord& record, const std::vector<double>& numbers);
  void end_epoch(const EvaluationRecord& evaluation);
  RunFacts run_facts() const;
  void look_for_jumps(int64_t step);
  /// What may hold up a loss that stays: looked for once it does.
  StallSigns stall_signs();
  Result<std::vector<std::string>> dead_relus();
  void report_missing_gradients();
  /// Scales at the smallest number that a step leaves them.
  void report_lost_scales();
  LossCourse loss_course() const;
  void find_divergence();
  /// Whether the loss of the state that the steps led to is that of a model; one batch is run for
  /// the last step's effect, which no loss shows yet.
  Result<bool> is_sound();

  // Validation, in session_evaluate.cc.
  const Dataset* validation() const;
  struct Totals {
    at::Tensor numbers; ///< as Sums::numbers, on the device
    std::vector<double> counts;
  };
  Result<EvaluationRecord> evaluate();
  Status evaluate_batch(TorchBatch batch, Totals& totals);
  /// Of each term the loss, the correct ones and the labels.
  Result<std::vector<double>> read_totals(const Totals& totals) const;
  void keep_best(EvaluationRecord& record);
  void restore_best();

  // State, in session_state.cc.
  NamedTensors state();
  /// Values beside trained ones that make the model: statistics, frozen scales.
  std::vector<ValueId> kept_values() const;
  Status save();
  bool is_writer() const { return options_.world.rank == 0; }
  bool ended() const;
  bool has_float_inputs() const;
  void find(TrainFinding finding);
  void scalar(std::string_view tag, int64_t step, double value) const;
  TrainProgress progress() const;
  Result<TrainedModel> finish(Outcome outcome);

  Graph graph_;
  const Dataset& all_;
  const Dataset* given_validation_;
  const TrainOptions& options_;
  SessionPlace place_;

  std::mutex reading_; ///< held while a data set is read: one call at a time, from any thread
  std::unique_ptr<Subset> examples_, held_out_; ///< to train on, to validate on
  std::unique_ptr<Peers> peers_;                ///< null: this process alone
  std::unique_ptr<Program> program_, teacher_;
  std::unique_ptr<Optimizer> optimizer_;
  Groups groups_;
  Objective objective_;
  LossScale loss_scale_;
  RunIdentity identity_;
  int64_t step_examples_ = 0, epoch_steps_ = 0, steps_ = 0, epochs_ = 0;
  RunCounters counters_;
  std::vector<at::Tensor> best_; ///< trained constants, then `kept_values`
  int64_t resumed_from_ = 0;
  double last_loss_ = 0, last_lr_ = 0;
  bool gradients_checked_ = false;
  std::vector<StepRecord> unread_;
  bool others_cancelled_ = false; ///< one of several processes has a raised flag
  std::chrono::steady_clock::time_point last_reading_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point epoch_start_ = started_;
  double evaluation_seconds_ = 0; ///< of the running epoch
  int64_t epoch_seen_here_ = 0;   ///< examples of the running epoch since this process started
};

} // namespace octet::train
