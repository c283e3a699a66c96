// SPDX-License-Identifier: Apache-2.0
// Training, and running a graph with LibTorch. The work is done by liboctet_train.so, which is
// loaded when `train_api` is called for the first time; no LibTorch type appears here.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dataset.h"
#include "octet/executor.h"
#include "octet/graph.h"

namespace octet {

class CancelToken; // core/progress.h

enum class Device { kCpu, kCuda };

enum class OptimizerKind { kSgd, kAdam, kAdamW };
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double lr = 1e-3;                                  ///< the highest that the schedule reaches
  double momentum = 0.9;                             ///< SGD
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8; ///< Adam and AdamW
  double weight_decay = 0; ///< Adam and SGD: L2 added to the gradient; AdamW: decoupled
  double clip_norm = 0;    ///< largest 2-norm of all gradients together; 0: no clipping
};

enum class ScheduleKind { kConstant, kOneCycle, kCosine };
/// One-cycle: from lr / div_factor up to lr during `warm_fraction` of the steps, then down to
/// lr / div_factor / final_div_factor, both along a cosine; momentum (beta1) runs the other way
/// between base_momentum and max_momentum. Source: Smith and Topin, arXiv 1708.07120, with the
/// defaults of PyTorch's OneCycleLR. Cosine: linear warm-up, then down to final_lr.
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kOneCycle;
  double warm_fraction = 0.3;
  double div_factor = 25, final_div_factor = 1e4;
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95;
  int64_t warmup_steps = 0; ///< cosine and constant
  double final_lr = 0;      ///< cosine
};

enum class LossKind {
  kAuto,         ///< cross-entropy when the data set has labels, else an error
  kCrossEntropy, ///< on the input of a final Softmax (seen through Q/DQ), else on the output
  kMeanSquare,   ///< of the output against the one-hot label
};

/// What becomes of the scales of weights that pass through Q/DQ.
enum class WeightScales {
  kFollow, ///< symmetric ones are taken from the largest magnitude at each step
  kFixed,  ///< stay as they are in the graph
  kLearned ///< trained by LSQ (arXiv 1902.08153)
};
enum class ActivationScales { kFixed, kLearned };

/// Where a run stands; called after each step and after each epoch.
struct TrainProgress {
  int64_t epoch = 0, epochs = 0; ///< the running epoch counts from 1
  int64_t step = 0, steps = 0;   ///< over all epochs
  int64_t epoch_step = 0, epoch_steps = 0;
  double loss = 0; ///< mean over the running epoch
  double lr = 0;
  double samples_per_second = 0; ///< over the running epoch, in this process
};

struct EpochRecord {
  int64_t epoch = 0; ///< from 1
  double train_loss = 0, train_accuracy = 0;
  double validation_loss = 0, validation_accuracy = 0; ///< 0 without a validation set
  double lr = 0;                                       ///< of the last step
  double seconds = 0;                                  ///< training and validation
  double train_seconds = 0;
};

/// Something that the user should look at.
struct TrainFinding {
  enum class Kind { kNotFinite, kStalled, kOverfitting, kNoGradient };
  Kind kind;
  int64_t epoch;
  std::string message; ///< what was seen and what usually causes it
};

struct TrainOptions {
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  LossKind loss = LossKind::kAuto;
  double label_smoothing = 0;
  int64_t epochs = 15;
  int64_t batch_size = 128;
  bool drop_last = false; ///< leaves out the last batch of an epoch when it is not full
  uint64_t seed = 0;      ///< of the order of examples and of dropout
  int threads = 0;        ///< 0: one for each core
  Device device = Device::kCpu;
  /// Names of constants, `*` stands for anything. `freeze` wins over `train`; `train` makes float
  /// constants trainable that have no trainable role.
  std::vector<std::string> train, freeze;
  WeightScales weight_scales = WeightScales::kFollow;
  ActivationScales activation_scales = ActivationScales::kFixed;
  bool freeze_statistics = false; ///< batch norm uses and keeps its running statistics
  /// Part of the training examples that is held out (by the seed) for validation when no validation
  /// set is given; 0: none.
  double validation_split = 0;
  bool keep_best = true; ///< the model of the best validated epoch, else that of the last one

  /// Written atomically at the end of each epoch and every `checkpoint_steps` steps; empty: none.
  std::string checkpoint;
  int64_t checkpoint_steps = 0;
  /// Continues from `checkpoint` when that file is there; the result equals that of a run that was
  /// never interrupted, bit for bit, given the same number of threads.
  bool resume = false;

  const CancelToken* cancel = nullptr; ///< raised to stop after the running step
  std::function<void(const TrainProgress&)> on_step;
  std::function<void(const EpochRecord&)> on_epoch;
  std::function<void(const TrainFinding&)> on_finding;
  /// Scalars for a log such as TensorBoard's: tag, step, value.
  std::function<void(std::string_view, int64_t, double)> on_scalar;
};

struct TrainReport {
  std::vector<EpochRecord> history;
  std::vector<TrainFinding> findings;
  std::vector<std::string> parameters; ///< names of what was trained, scales included
  int64_t best_epoch = 0;              ///< whose model was kept; 0: the last state
  int64_t steps = 0;
  int64_t resumed_from = 0; ///< the step of the checkpoint; 0: from the start
  bool cancelled = false;
  double seconds = 0;
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
};

/// Loads liboctet_train.so, which is looked for beside liboctet, then on the library path. The
/// error says where it was looked for.
Result<TrainApi*> train_api();

} // namespace octet
