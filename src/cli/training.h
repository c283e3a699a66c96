// SPDX-License-Identifier: Apache-2.0
// The options of training and what is shown while it runs, shared by train and qat.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

#include "octet/train.h"

namespace CLI {
class Option;
} // namespace CLI

namespace octet::cli {

/// What the flags start from.
struct TrainDefaults {
  int64_t epochs;
  double lr;
  int64_t batch = 128;
  std::string optimizer = "adam", schedule = "one-cycle";
  bool test_data = true; ///< is at hand, and shown
};

/// `test` only informs after each epoch; null: not shown.
struct TrainingData {
  std::shared_ptr<const Dataset> examples, test;
};

/// Opens one part of a data set, with so many examples (0: all).
using OpenData = std::function<Result<std::shared_ptr<const Dataset>>(Split, int64_t limit)>;

/// Writes what was trained with its record.
using WriteTrained = std::function<Status(const std::string& record)>;

class TrainFlags {
 public:
  explicit TrainFlags(const TrainDefaults& defaults)
      : optimizer_(defaults.optimizer), schedule_(defaults.schedule),
        has_test_data_(defaults.test_data) {
    options_.epochs = defaults.epochs;
    options_.optimizer.lr = defaults.lr;
    options_.batch_size = defaults.batch;
  }
  /// With `data`: the option --data, kept in `this->data`.
  void define(CLI::App& app, bool with_data = true);
  /// The options --limit and --test-limit, for data that is costly to run.
  void define_limits(CLI::App& app);
  /// Refuses, before any data is read: options that need a held-out part without one, a checkpoint
  /// that is there already (but with --resume or --force).
  Status check(const std::string& output, const Common& common) const;
  /// Takes other defaults where an option was not given; says which.
  std::string use_defaults(const TrainDefaults& defaults);
  /// Whether accuracy on test data is shown after each epoch.
  bool shows_test() const { return !no_validation_ && options_.validation_split == 0; }
  /// Trains with progress, curves in `--log-dir`, and a checkpoint beside `output`. Findings are
  /// said as they come. The checkpoint is removed once `output` has been written (`finished`).
  Result<TrainedModel> train(const Graph& graph,
                             const TrainingData& examples,
                             const std::string& output,
                             const Common& common,
                             TrainOptions base);
  /// The training part, and the test part where that is shown.
  Result<TrainingData> open_data(const OpenData& open) const;
  /// Hands the training record to `write` and reports. A run that diverged is the answer no, and
  /// its model is not written unless a better one was kept or --keep-diverged asks for it.
  Result<Answer> conclude(const TrainedModel& model,
                          const std::string& output,
                          const std::vector<RunSetting>& given,
                          const Common& common,
                          const WriteTrained& write) const;
  TrainOptions options() const { return options_; }

  std::string data;

 private:
  std::string checkpoint_path(const std::string& output) const;
  /// Of several processes that train one model only the first writes it.
  bool writes() const { return rank_ == 0; }
  void finished(const std::string& output) const;
  /// How a model came to be, as JSON: what a folder keeps as its training record. `given` is what
  /// the command knows beside these flags: its data, the model that it started from.
  std::string record(const TrainedModel& model,
                     const std::string& output,
                     const std::vector<RunSetting>& given) const;
  /// The training record, or a line.
  void report(const TrainedModel& model,
              const std::string& output,
              const std::string& record,
              const Common& common) const;
  Status write_page(const TrainedModel& model,
                    const std::string& output,
                    const std::vector<RunSetting>& given,
                    const Common& common) const;
  /// How FP8 is scaled. Errors: an option of it with another precision, a name that is not known.
  Status choose_fp8(TrainOptions& options) const;
  void keep_settings(const TrainingData& examples, const TrainOptions& options);

  TrainOptions options_;
  std::string optimizer_, schedule_, device_ = "cpu", precision_ = "f32", log_dir_, checkpoint_,
                                     report_, fp8_scaling_ = "delayed", fp8_amax_ = "max";
  bool keep_diverged_ = false, no_checkpoint_ = false, no_validation_ = false,
       has_test_data_ = true;
  const CLI::Option *epochs_option_ = nullptr, *batch_option_ = nullptr, *rate_option_ = nullptr,
                    *optimizer_option_ = nullptr;
  std::vector<const CLI::Option*> fp8_options_;
  int64_t limit_ = 0, test_limit_ = 2000;
  std::vector<RunSetting> settings_; ///< of the last run
  uint64_t data_hash_ = 0;           ///< of its examples
  int rank_ = 0;
  std::optional<Interruptible> interruptible_;
};

/// The losses of a graph that predicts masked tokens and next sentences; empty: any other, which
/// learns its labels.
std::vector<LossTerm> language_losses(const Graph& graph);

} // namespace octet::cli
