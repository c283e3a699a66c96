// SPDX-License-Identifier: Apache-2.0
// The options of quantization that quantize, qat and explain share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/outputs.h"

#include "octet/quantize.h"

namespace CLI {
class Option;
} // namespace CLI

namespace octet::cli {

class QuantizeFlags {
 public:
  /// Training: static quantization alone, and `--steps` are its updates.
  enum class For { kQuantizing, kTraining };
  void define(CLI::App& app, For use = For::kQuantizing);
  /// `--batch`, where the command has no other use for it.
  void define_batch(CLI::App& app);
  /// Errors: an unknown target, calibrator or mode, with the nearest match.
  Result<QuantizeOptions> options(const Common& common) const;
  /// Opens `--data` (training split: calibration never sees test data; text goes through the
  /// tokenizer of `model`'s folder) and makes the plan, with progress. An edited plan given by
  /// `--plan` is taken instead.
  Result<QuantizationPlan>
  plan(const Graph& graph, const std::string& model, const Common& common) const;

  /// Warns where nothing measured what a plan does to the outputs, there is data to do so, and it
  /// leaves little of them. A network that cannot be run is not measured.
  void warn_if_unmeasured(const Graph& graph,
                          const QuantizationPlan& plan,
                          const std::string& model,
                          const Common& common) const;

  /// What the float values of a quantized graph hold on `--data`, for 16 bits; nothing without it.
  Result<std::map<std::string, Range>>
  precision_ranges(const Graph& quantized, const std::string& model, const Common& common) const;

  std::string data;
  std::string plan_file, ranges_file;
  /// What these options read.
  UsedFiles used_files() const { return {data, plan_file, ranges_file, target_}; }
  /// Whether no two products of the file may exceed int16.
  bool reduces_range() const { return reduce_range_; }
  /// Whether the plan can have steps, and so numbers beside its file.
  bool may_have_steps() const { return !steps_.empty() || !plan_file.empty(); }
  const std::string& target() const { return target_; } ///< as given
  /// The target where none is given.
  void prefer_target(const char* target);
  int64_t max_length() const { return max_length_; } ///< 0: as the model says
  /// What `--data` names, for what else reads it.
  ModelData model_data() const { return {data, Split::kTrain, max_length_, 0}; }

 private:
  struct Measured {
    double sqnr; ///< decibels of the outputs
    int64_t examples;
  };
  Result<Measured> measure(const Graph& graph,
                           const QuantizationPlan& plan,
                           const std::string& model,
                           const Common& common) const;
  Result<QuantizationPlan>
  make_plan(const Graph& graph, const std::string& model, const Common& common) const;

  std::string target_ = "octet", mode_ = "static", calibrator_ = "auto",
              weight_calibrator_ = "min-max", correct_biases_ = "auto", mask_input_;
  bool trains_ = false; ///< For::kTraining
  bool per_tensor_ = false, asymmetric_ = false, symmetric_ = false, softmax_ = false,
       embeddings_ = false, reduce_range_ = false;
  std::vector<std::string> include_, exclude_, layers_, steps_, exclude_steps_, zeros_;
  int weight_bits_ = 8, activation_bits_ = 8;
  int64_t samples_ = 512, max_length_ = 0, batch_ = QuantizeOptions{}.batch_size;
  std::string weights_, activations_; ///< formats; empty: 8-bit codes
  const CLI::Option *target_option_ = nullptr, *calibrator_option_ = nullptr,
                    *weight_calibrator_option_ = nullptr;
};

} // namespace octet::cli
