// SPDX-License-Identifier: Apache-2.0
// A subcommand: a description, options and what it does. Each is one file; main.cc lists them.
#pragma once

#include <string>
#include <string_view>

#include "core/progress.h"

#include "octet/result.h"

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

/// Options that every subcommand takes.
struct Common {
  std::string command;      ///< words after `octet`
  std::string command_line; ///< all that was typed, for people
  bool json = false;
  bool force = false;
  bool strict = false; ///< models that declare other types than they compute are refused
  int threads = 0;
  uint64_t seed = 0;
  std::string config; ///< TOML file that options were read from
};

/// What the process ends with when nothing failed.
enum class Answer { kDone = 0, kNo = 1 };

class Command {
 public:
  virtual ~Command() = default;
  /// Words after `octet`: `inspect`, or `data show` for a nested one.
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual std::string_view example() const = 0;
  virtual void define(CLI::App& app) = 0;
  virtual Result<Answer> run(const Common& common) = 0;
};

/// While one lives, the first SIGINT or SIGTERM only raises the token, which its maker polls, so
/// that the work ends in good order. At any other time, and from the second signal on, a signal
/// ends the process at once; temporary files are removed.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  const CancelToken& token() const; ///< outlives the object
  bool stopped() const { return token().cancelled(); }
  /// The error kCancelled once the token is raised.
  Status check() const;
};

// The subcommands.
Command& inspect_command();
Command& view_command();
Command& assemble_command();
Command& run_command();
Command& predict_command();
Command& eval_command();
Command& debug_command();
Command& formats_command();
Command& fp8_outliers_command();
Command& fp8_training_command();
Command& fp8_pass_rates_command();
Command& bench_command();
Command& certify_command();
Command& lock_command();
Command& verify_command();
Command& check_command();
Command& explain_command();
Command& diff_command();
Command& calibrate_command();
Command& ranges_merge_command();
Command& ranges_show_command();
Command& ranges_diff_command();
Command& simplify_command();
Command& pack_command();
Command& repair_command();
Command& quantize_command();
Command& optimize_command();
Command& qat_command();
Command& train_model_command(); ///< before those under it
Command& train_cnn_command();
Command& train_bert_command();
Command& pretrain_bert_command();
Command& fill_mask_command();
Command& import_hf_command();
Command& export_command(); ///< before those under it
Command& export_hf_command();
Command& engine_build_command();
Command& engine_eval_command();
Command& engine_profile_command();
Command& engine_compare_command();
Command& data_show_command();
Command& data_export_command();
Command& data_fetch_command();
Command& tokenize_command();
Command& train_vocabulary_command();
Command& help_command();

} // namespace octet::cli
