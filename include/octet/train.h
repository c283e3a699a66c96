// SPDX-License-Identifier: Apache-2.0
// Training, and running a graph with LibTorch. The work is done by liboctet_train.so, which is
// loaded when `train_api` is called for the first time; no LibTorch type appears here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dataset.h"
#include "octet/executor.h"
#include "octet/graph.h"
#include "octet/learn_rounding.h"
#include "octet/train_options.h"

namespace octet {

struct TrainReport {
  std::vector<EpochRecord> history;
  std::vector<TrainFinding> findings;
  std::vector<std::string> parameters;       ///< names of what was trained, scales included
  std::vector<EvaluationRecord> evaluations; ///< on the validation set, in order
  std::vector<ParameterGroup> groups;        ///< which parameters decay and which do not, and why
  int64_t best_epoch = 0;                    ///< whose model was kept; 0: the last state
  int64_t best_step = 0;                     ///< after which it was
  int64_t steps = 0;
  int64_t skipped_steps = 0;  ///< in f16, where gradients overflowed
  bool stopped_early = false; ///< patience ran out
  int64_t resumed_from = 0;   ///< the step of the checkpoint; 0: from the start
  bool cancelled = false;
  /// The loss was far above that of the first step and of guessing at the end, or no number:
  /// without a best model (`best_step` 0) the graph is worth nothing. A finding says more.
  bool diverged = false;
  double seconds = 0;
  /// Of the content of the examples, where a checkpoint or other processes need it; 0: not computed.
  uint64_t data_hash = 0;
};

struct TrainedModel {
  Graph graph; ///< the graph given, with new constants
  TrainReport report;
};

struct TorchOptions {
  Device device = Device::kCpu;
  int threads = 0; ///< 0: one for each core
};

/// A loss summed over weighted outputs is differentiated: for each output its gradient; the result
/// has one tensor for each name in `wrt` (inputs or float constants of the graph).
struct GradientRequest {
  std::vector<Tensor> inputs;
  std::vector<Tensor> output_gradients;
  std::vector<std::string> wrt;
  WeightScales weight_scales = WeightScales::kFixed;
  ActivationScales activation_scales = ActivationScales::kFixed;
};

/// What liboctet_train.so offers. No call throws.
class TrainApi {
 public:
  virtual ~TrainApi() = default;
  virtual std::string_view octet_version() const = 0; ///< that the library was built with
  virtual std::string_view torch_version() const = 0;
  virtual bool has_cuda() const = 0;

  /// Runs a graph with LibTorch, without gradients. Errors: no such device, an operator's node.
  virtual Result<std::unique_ptr<Executor>> make_executor(const Graph& graph,
                                                          const TorchOptions& options) = 0;
  /// Trains what `trainable_parameters` finds. A graph with Q/DQ is trained through them with
  /// straight-through gradients. Errors: nothing to train, a bad option, a data set that does not
  /// fit the graph, a checkpoint of another run, a loss that is not finite before any model was
  /// worth keeping.
  virtual Result<TrainedModel> train(const Graph& graph,
                                     const Dataset& examples,
                                     const Dataset* validation,
                                     const TrainOptions& options) = 0;
  virtual Result<std::vector<Tensor>> gradients(const Graph& graph,
                                                const GradientRequest& request) = 0;
  /// Block reconstruction (Li et al. 2021, BRECQ) with the rounding variables of AdaRound. See
  /// LearnRounding. The same numbers for the same request, threads and machine.
  virtual Result<LearnedRounding> learn_rounding(const RoundingRequest& request) = 0;
};

/// The run that RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT describe, as torchrun sets them;
/// alone when WORLD_SIZE is not set. Errors: a variable that is missing or makes no sense.
Result<World> world_from_environment();

/// Loads liboctet_train.so, which is looked for beside liboctet, then on the library path. The
/// error says where it was looked for.
Result<TrainApi*> train_api();

} // namespace octet
