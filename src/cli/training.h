// SPDX-License-Identifier: Apache-2.0
// The options of training and what is shown while it runs, shared by train and qat.
#pragma once

#include <string>

#include "cli/command.h"

#include "octet/train.h"

namespace octet::cli {

class TrainFlags {
 public:
  TrainFlags(int64_t epochs, double lr) {
    options_.epochs = epochs;
    options_.optimizer.lr = lr;
  }
  void define(CLI::App& app);
  /// Trains with progress, curves in `--log-dir`, and a checkpoint beside `output`. Findings are
  /// said as they come. The checkpoint is removed once `output` has been written (`finished`).
  Result<TrainedModel>
  train(const Graph& graph, const std::string& output, const Common& common, TrainOptions base);
  void finished(const std::string& output) const;
  /// The history as JSON, or a line.
  void report(const TrainedModel& model, const std::string& output, const Common& common) const;
  TrainOptions options() const { return options_; }

  std::string data;

 private:
  std::string checkpoint_path(const std::string& output) const;

  TrainOptions options_;
  std::string optimizer_ = "adam", schedule_ = "one-cycle", device_ = "cpu", log_dir_, checkpoint_;
  bool no_checkpoint_ = false, no_validation_ = false;
};

} // namespace octet::cli
