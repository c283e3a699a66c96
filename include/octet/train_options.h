// SPDX-License-Identifier: Apache-2.0
// What a training run is: data order, losses, optimizer, schedule, what is kept, who takes part.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/graph.h"

namespace octet {

class CancelToken; // core/progress.h

enum class Device { kCpu, kCuda };
/// What products and convolutions are computed in; parameters, normalizations and losses stay f32.
/// f16 scales the loss so that small gradients survive, and needs CUDA. FP8: convolutions and
/// products with a weight (linear layers), as `Fp8Options` has it; products of two activations stay
/// f32.
enum class Precision { kFloat32, kBfloat16, kFloat16, kFloat8 };

enum class Fp8Scaling { kDelayed, kCurrent };
enum class Fp8Amax { kMax, kMostRecent };
/// Training in FP8 (arXiv 2209.05433, with the scaling of Transformer Engine's DelayedScaling and
/// Float8CurrentScaling recipes): activations and weights are cast to E4M3FN, gradients of outputs
/// to E5M2, each by a factor for the whole tensor, and all three products of a layer (forward, of
/// the input's and of the weight's gradient) multiply such codes and add up in f32. Values beyond
/// the format's largest saturate. Parameters and their updates stay f32.
struct Fp8Options {
  /// Delayed: the factor of a step follows from the largest magnitudes (amax) of those before it,
  /// (largest of the format / amax) / 2^margin, and is 1 at the first. Current: from the tensor's
  /// own amax.
  Fp8Scaling scaling = Fp8Scaling::kDelayed;
  int64_t history = 1024; ///< steps whose amax is kept
  int margin = 0;
  Fp8Amax amax = Fp8Amax::kMax; ///< of the history the largest, or the last step's
};

enum class OptimizerKind { kSgd, kAdam, kAdamW };
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double lr = 1e-3;                                  ///< the highest that the schedule reaches
  double momentum = 0.9;                             ///< SGD
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8; ///< Adam and AdamW
  double weight_decay = 0; ///< Adam and SGD: L2 added to the gradient; AdamW: decoupled
  double clip_norm = 0;    ///< largest 2-norm of all gradients together; 0: no clipping
  /// AdamW leaves biases, gains of normalizations and quantization scales without decay, since they
  /// are small in number and not what overfits; true: all decay.
  bool decay_all = false;
  double clip_decay = 0; ///< of clips (ActivationScales::kClipped), in place of weight_decay
  std::vector<std::string> no_decay; ///< names of further constants without decay, `*` for anything
};

enum class ScheduleKind { kConstant, kOneCycle, kCosine, kLinear };
/// One-cycle: from lr / div_factor up to lr during `warm_fraction` of the steps, then down to
/// lr / div_factor / final_div_factor, both along a cosine; momentum (beta1) runs the other way
/// between base_momentum and max_momentum. Source: Smith and Topin, arXiv 1708.07120, with the
/// defaults of PyTorch's OneCycleLR. The others warm up linearly first, then stay (constant) or go
/// down to final_lr along a cosine or a line.
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kOneCycle;
  double warm_fraction = 0.3; ///< one-cycle
  double div_factor = 25, final_div_factor = 1e4;
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95;
  int64_t warmup_steps = 0;   ///< all but one-cycle
  double warmup_fraction = 0; ///< of the steps, where warmup_steps is 0; all but one-cycle
  double final_lr = 0;        ///< cosine and linear
};

enum class LossKind {
  kAuto,         ///< cross-entropy when there are labels, else an error
  kCrossEntropy, ///< on the input of a final Softmax (seen through Q/DQ), else on the output
  /// Of the output against the numbers that it should be; against the one-hot label where labels
  /// are classes, of an output of one column against the label itself.
  kMeanSquare,
  /// Of each number of the output by itself, on the input of a final Sigmoid, else on the output;
  /// targets from 0 to 1, or classes as for kMeanSquare.
  kBinaryCrossEntropy,
};

/// One term of the sum that training minimizes: the mean over everything that has a label.
struct LossTerm {
  std::string output; ///< f32[..., classes] by name; empty: the graph's first output
  /// By name among Batch::targets, i64[...] classes or f32[...] numbers; empty: Batch::labels, or
  /// kNumberLabels among the targets.
  std::string target;
  LossKind kind = LossKind::kCrossEntropy;
  double weight = 1;
  int64_t ignore_index = -100; ///< a label that counts for nothing
};

/// Distillation (Hinton et al., arXiv 1503.02531): the loss is (1 - weight) times that of the
/// labels plus weight * temperature^2 times the divergence of the student's softened classes from
/// the teacher's, for each term, plus hidden_weight times the mean square of the difference of
/// values.
struct TeacherOptions {
  const Graph* graph = nullptr; ///< reads the same features; null: none
  double temperature = 2;
  double weight = 0.5;
  double hidden_weight = 0;
  std::vector<std::string> hidden; ///< names of values that both graphs have, `*` for anything
};

/// The processes that train one model together, each on its part of every batch.
struct World {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1"; ///< of rank 0
  int port = 29500;
  double timeout_seconds = 300; ///< after which a process that does not answer counts as lost
};

/// What becomes of the scales of weights that pass through Q/DQ.
enum class WeightScales {
  kFollow, ///< symmetric ones are taken from the extremes at each step
  kFixed,  ///< stay as they are in the graph
  kLearned ///< trained by LSQ (arXiv 1902.08153)
};
enum class ActivationScales {
  kFixed,
  kLearned, ///< LSQ
  /// Of a Relu's output the clip, which is the scale times the largest code, is trained by PACT (arXiv
  /// 1805.06085): elements at and above it add up their gradients. Others stay.
  kClipped
};
/// Where scales that LSQ trains start.
enum class ScaleStart {
  kObserved, ///< as they are in the graph
  /// As published: 2 mean|v| / sqrt(largest code), for weights and for activations of a first batch.
  kPublished
};

/// Where a run stands; called after each step and after each epoch.
struct TrainProgress {
  int64_t epoch = 0, epochs = 0; ///< the running epoch counts from 1
  int64_t step = 0, steps = 0;   ///< over all epochs
  int64_t epoch_step = 0, epoch_steps = 0;
  double loss = 0; ///< mean over the running epoch
  double lr = 0;
  double samples_per_second = 0; ///< over the running epoch, in this process
};

/// What tells how good a model is, beside its loss.
enum class TermMetric { kAccuracy, kAbsoluteError };

/// One loss term over many examples.
struct TermRecord {
  std::string output;
  /// Accuracy: share of labels that the largest output meets, or of numbers 0 and 1 that each
  /// output meets by itself; 0 of a term that has none.
  double loss = 0, accuracy = 0;
  int64_t labels = 0; ///< that counted
  TermMetric metric = TermMetric::kAccuracy;
  double absolute_error = 0; ///< mean over the numbers, where that is the metric
};

struct EpochRecord {
  int64_t epoch = 0; ///< from 1
  double train_loss = 0, train_accuracy = 0;
  double validation_loss = 0, validation_accuracy = 0; ///< 0 without a validation set
  double lr = 0;                                       ///< of the last step
  double seconds = 0;                                  ///< training and validation
  double train_seconds = 0;
  std::vector<TermRecord> terms = {}; ///< of training
};

struct EvaluationRecord {
  int64_t step = 0, epoch = 0;
  double loss = 0, accuracy = 0; ///< accuracy: of the first term
  bool best = false;             ///< better than all before
  std::vector<TermRecord> terms = {};
};

/// Something that the user should look at.
struct TrainFinding {
  enum class Kind {
    kNotFinite,
    kStalled,
    kOverfitting,
    kNoGradient,
    kDiverged,
    kWorse,       ///< validation got worse within a few epochs
    kRateTooHigh, ///< the loss jumped, or rose from where it began
    kLabels,      ///< labels that do not fit
    kScales,      ///< learned scales fell to nothing
  };
  Kind kind;
  int64_t epoch;
  std::string message; ///< what was seen and what usually causes it
};

struct ParameterGroup {
  std::string rule; ///< who is in it
  double weight_decay = 0;
  std::vector<std::string> parameters;
};

/// One of the settings that make a run what it is: `learning rate`, `0.001`.
struct RunSetting {
  std::string name, value;
};

struct TrainOptions {
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  LossKind loss = LossKind::kAuto; ///< of the first output, where `losses` is empty
  std::vector<LossTerm> losses;
  double label_smoothing = 0;
  TeacherOptions teacher;
  int64_t epochs = 15;
  int64_t max_steps = 0; ///< ends the run after so many steps, whatever `epochs` says; 0: by epochs
  int64_t batch_size = 128; ///< examples that go through the graph at once
  int64_t accumulate = 1;   ///< batches whose gradients make one step
  bool drop_last = false;   ///< leaves out the last step of an epoch when it is not full
  /// Batches hold examples of like lengths where the data set tells lengths apart.
  bool bucket_lengths = true;
  uint64_t seed = 0; ///< of the order of examples and of dropout
  int threads = 0;   ///< 0: one for each core
  Device device = Device::kCpu;
  Precision precision = Precision::kFloat32;
  Fp8Options fp8; ///< where `precision` is kFloat8
  World world;
  /// Names of constants, `*` stands for anything. `freeze` wins over `train`; `train` makes float
  /// constants trainable that have no trainable role.
  std::vector<std::string> train, freeze;
  WeightScales weight_scales = WeightScales::kFollow;
  ActivationScales activation_scales = ActivationScales::kFixed;
  ScaleStart scale_start = ScaleStart::kObserved;
  /// Share of the steps after which scales stay, learned ones and those that follow weights; 1: none
  /// does.
  double freeze_scales_after = 1;
  bool freeze_statistics = false;     ///< batch norm uses and keeps its running statistics
  double freeze_statistics_after = 1; ///< the same from this share of the steps on
  /// Part of the training examples that is held out (by the seed) for validation when no validation
  /// set is given; 0: none.
  double validation_split = 0;
  int64_t evaluate_steps = 0; ///< also validates every so many steps; 0: after each epoch only
  int64_t patience = 0;  ///< validations in a row without a better one that end the run; 0: never
  bool keep_best = true; ///< the model of the best validation, else that of the last step

  /// Written atomically at the end of each epoch and every `checkpoint_steps` steps; empty: none.
  std::string checkpoint;
  int64_t checkpoint_steps = 0;
  /// Continues from `checkpoint` when that file is there; the result equals that of a run that was
  /// never interrupted, bit for bit, given the same number of threads.
  bool resume = false;
  /// What graph and data come from, by name: size, vocabulary, share of masked tokens. They change
  /// nothing; a run that cannot be resumed since its data or graph are others is told which of them
  /// is another one.
  std::vector<RunSetting> settings;

  const CancelToken* cancel = nullptr; ///< raised to stop after the running step
  std::function<void(const TrainProgress&)> on_step;
  std::function<void(const EpochRecord&)> on_epoch;
  std::function<void(const EvaluationRecord&)> on_evaluation;
  std::function<void(const TrainFinding&)> on_finding;
  /// Scalars for a log such as TensorBoard's: tag, step, value.
  std::function<void(std::string_view, int64_t, double)> on_scalar;
};

} // namespace octet
