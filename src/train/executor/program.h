// SPDX-License-Identifier: Apache-2.0
// Program: a graph made ready to run and to be differentiated by LibTorch. Everything that can be
// decided once is: the schedule, where each tensor lies, when it is let go of, which Q/DQ pairs are
// one fake-quant function, what is constant.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"
#include "train/fake_quant.h"
#include "train/fp8/layer.h"
#include "train/ops/mapping.h"
#include <ATen/core/Tensor.h>

#include "octet/graph.h"
#include "octet/train.h"

namespace octet::train {

struct ProgramOptions {
  c10::Device device{c10::kCPU};
  std::vector<ValueId> parameters; ///< constants that get gradients
  std::vector<ValueId> wanted;     ///< what forward returns; empty: the graph's outputs
  WeightScales weight_scales = WeightScales::kFixed;
  ActivationScales activation_scales = ActivationScales::kFixed;
  /// Products of codes add biases as a quantized file holds them, in whole steps of their sums.
  bool rounds_biases = false;
  std::optional<Fp8Options> fp8; ///< convolutions and products with a weight are computed in FP8
};

/// Takes what forward would return, one at a time.
using WantedTap = std::function<Status(size_t wanted, const at::Tensor& value)>;

class Program {
 public:
  /// Errors: an operator without a mapping, a type that LibTorch lacks, no such device.
  static Result<std::unique_ptr<Program>> create(const Graph& graph, const ProgramOptions& options);

  struct Trained {
    ValueId value;
    at::Tensor leaf;
    std::vector<ValueId> copies; ///< other constants that hold the same and must follow (scales)
    bool is_scale = false;
    bool is_clip = false; ///< a scale that is trained as PACT's clip
  };
  std::vector<Trained>& trained() { return trained_; }
  /// Running statistics: constants that a training run changes.
  const std::vector<ValueId>& statistics() const { return statistics_; }
  at::Tensor& slot(ValueId value) { return slots_[static_cast<size_t>(value.index)]; }

  /// Runs the schedule on one tensor for each graph input, on any device. Gradients are traced when
  /// LibTorch's gradient mode is on. Errors name the node.
  Result<std::vector<at::Tensor>> forward(std::vector<at::Tensor> inputs, const RunState& run);
  /// The same with each wanted value handed over when it is made, and kept no longer than steps
  /// need it; for one run on the CPU or another device without gradients. An error of the tap ends
  /// it.
  Status stream(std::vector<at::Tensor> inputs, const RunState& run, const WantedTap& tap);
  /// Takes the scales of followed weights from their extremes; before each training step
  /// and after the last.
  void follow_weight_scales();
  /// The scales that it takes.
  std::vector<ValueId> followed_scales() const;

  /// Writes trained constants, scales and statistics into a graph with the same ids; biases as
  /// products add them.
  void store(Graph& graph) const;
  /// Names of nodes that run by their reference although a trained constant reaches them.
  const std::vector<std::string>& without_gradient() const { return without_gradient_; }
  /// The factors of casts to FP8, three for each layer; null: none was asked for.
  Fp8Scales* fp8() const { return fp8_.get(); }
  c10::Device device() const { return device_; }
  const Graph& graph() const { return graph_; }

 private:
  friend class ProgramBuilder;
  struct Step {
    Apply apply;
    NodeId node;
    std::vector<int> inputs, outputs;
    std::vector<int> release; ///< slots that nothing needs after this step
    /// Wanted slots that no later step reads, and the wanted values that this step makes.
    std::vector<int> release_wanted;
    std::vector<size_t> makes;
    std::shared_ptr<const Fp8Layer> fp8; ///< null: not computed in FP8
  };
  /// A weight whose scale follows from its extremes.
  struct Followed {
    ValueId weight, scale;
    std::vector<ValueId> copies;
    std::shared_ptr<FakeQuant> spec;
  };

  /// A bias that one product reads, in steps of its sum.
  struct RoundedBias {
    ValueId bias, x_scale, w_scale;
    double factor = 1;
  };

  Status run_steps(std::vector<at::Tensor> inputs,
                   const RunState& run,
                   const std::function<Status(const Step&)>& after_step);
  void clear_transient();

  Graph graph_;
  c10::Device device_{c10::kCPU};
  std::vector<Step> steps_;
  std::vector<at::Tensor> slots_; ///< by value id; behind them what steps hold beside values
  std::vector<ValueId> wanted_;
  std::vector<size_t> wanted_at_start_; ///< inputs and constants among them
  std::vector<int> transient_;          ///< slots to clear after a run
  std::vector<Trained> trained_;
  std::vector<ValueId> statistics_;
  std::vector<Followed> followed_;
  std::vector<RoundedBias> rounded_;
  std::vector<std::string> without_gradient_;
  std::unique_ptr<Fp8Scales> fp8_;
};

/// Turns Constant nodes with a tensor into constants, so that they can be trained and stored.
Status absorb_constant_nodes(Graph& graph);

} // namespace octet::train
