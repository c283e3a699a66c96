// SPDX-License-Identifier: Apache-2.0
// Quantization: first a plan (what becomes 8 bits, over which range, and why), then its
// application. A plan can be printed, saved as JSON, edited, and applied again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dataset.h"
#include "octet/executor.h"
#include "octet/learn_rounding.h"
#include "octet/number_format.h"
#include "octet/observer.h"
#include "octet/plan_steps.h"

namespace octet {

enum class QuantMode {
  kStatic,     ///< activations and weights, ranges from calibration data
  kDynamic,    ///< weights stored; linear layers take the ranges of activations at every run
  kWeightOnly, ///< weights stored in codes, everything computed in float
};
std::string_view name(QuantMode mode);
Result<QuantMode> parse_quant_mode(std::string_view text);

/// What is in codes of some layers and how, where it is not as of the others.
struct LayerFormat {
  std::string pattern; ///< as QuantizeOptions::include
  std::optional<int> weight_bits = std::nullopt;
  std::optional<bool> per_channel = std::nullopt;
  /// Static mode: of the activations that the layers read, and of their output where no layer reads
  /// it in codes.
  std::optional<int> activation_bits = std::nullopt;
  std::optional<Calibrator> calibrator = std::nullopt; ///< of the same activations
  /// Of weights, and of the same activations; they go before bits.
  std::optional<NumberFormat> weights = std::nullopt, activations = std::nullopt;
  /// Static mode: linear layers take the range of what they read at every run, as all do in the
  /// dynamic mode; what has no such form has stored weights and computes in float.
  bool dynamic = false;
  bool exact = false; ///< the pattern is a node's whole name, in which nothing is special
};

struct QuantizeOptions {
  std::string target = "octet"; ///< see octet/target.h
  QuantMode mode = QuantMode::kStatic;
  Calibrator calibrator = MinMax{};        ///< of activations
  Calibrator weight_calibrator = MinMax{}; ///< of weights
  /// With the calibrator `auto`: up to three layers in whose codes the outputs collapse stay in float,
  /// where nothing else says what is to be in codes.
  bool float_where_collapsed = true;
  /// Static mode: products correct their biases by the means of what they read (TensorPlan::means).
  /// Not given: with the calibrator `auto`, where that is measured to help, otherwise they do not.
  std::optional<bool> correct_biases;
  int weight_bits = 8, activation_bits = 8; ///< 2 to 8; below 8 the codes stay in 8-bit types
  /// Formats of their own, which go before bits; none: 8-bit codes as the target wants them. Products
  /// alone read activations that are not int8 or uint8, and embedding tables stay in int8. Weights of
  /// the format `float` leave a layer as it is; activations, in the static mode, too: its weights
  /// are then stored and computed with in float.
  std::optional<NumberFormat> weights, activations;
  /// E5M2 (and E5M2FNUZ) holds weights or activations as they are, with scale 1 and no calibrator
  /// (arXiv:2309.14592); a calibrator of a layer goes before.
  bool direct_weights = true, direct_activations = true;
  bool per_channel = true; ///< weights: one scale for each output channel
  /// Ranges of int8 weights are wider where two products of neighbours could exceed int16, in which
  /// ONNX Runtime and others add them on x64 without VNNI (octet/certify.h). Steps that choose codes
  /// or ranges of weights do not keep to it.
  bool reduce_range = false;
  std::optional<bool> symmetric;    ///< activations; default: what the target wants
  std::vector<std::string> include; ///< patterns (* and ?) of node names or operators, or whole
                                    ///< components of names ("pooler" of "bert.pooler/dense");
  std::vector<std::string> exclude; ///< empty include: all. exclude wins
  /// In order: each says what differs for the layers that it matches, the last one wins. What
  /// several layers read takes the most bits of theirs; calibrators that differ are an error.
  std::vector<LayerFormat> layers;
  bool softmax = false; ///< Softmax too, with its fixed range [0, 1]
  /// Static mode: rows of embedding tables are stored in 8 bits, one scale each (per tensor if
  /// `per_channel` is false), and computed with in float. The other modes always do so.
  bool embeddings = false;
  /// Ranges of activations that are known, by value name; they are not observed (octet/ranges.h).
  std::map<std::string, Range> ranges;
  /// Algorithms whose steps the plan gets where they help (step_names()); in the dynamic and the
  /// weight-only mode those of the stage `weights` alone. They take several passes over the data,
  /// so that a data set is needed. What the calibrator `auto` holds back is in none of them, and
  /// steps of the stage `float` with which the outputs are worse on it are left out.
  std::vector<std::string> steps;
  int threads = 1; ///< that fit steps, 0: one for each core; what they find does not depend on it
  std::vector<std::string> exclude_steps; ///< patterns (* and ?) of ids of steps that are left out
  int64_t samples = 512;                  ///< of the data set, evenly spaced; 0: all
  int64_t batch_size = 64;
  /// Input that is 0 where the others hold padding; it masks tensors whose shape begins with its.
  std::string mask_input;
  /// Runs the float graph while calibrating; empty: the reference executor.
  ExecutorFactory executor;
  /// What `reconstruct` learns by; empty: that step is refused.
  LearnRounding learn_rounding;
  /// Called after each value that was observed and each batch, with the samples done and all (0:
  /// not known); false stops.
  std::function<bool(int64_t done, int64_t total)> progress;
};

/// Means of an activation, one for each index of an axis.
struct ChannelMeans {
  int64_t axis = 1; ///< 1, or -1 for the last
  std::vector<float> values;
  bool operator==(const ChannelMeans&) const = default;
};

/// How one tensor is represented.
struct TensorPlan {
  std::string value;
  Scheme scheme;
  std::optional<int64_t> axis; ///< one range for each index of this axis
  /// With blocks `axis` is the one that is cut, the last block may be short, and there is one range
  /// for each scale: as many as the tensor has elements, were the axis as long as it has blocks.
  int64_t block = 0;
  std::string algorithm; ///< a calibrator's name, "fixed", "given", "direct" or "same as <value>"
  std::vector<Range> ranges;
  std::string note; ///< what was noticed: all-zero channels, infinities left out
  /// Of an activation, by the channels that products sum over: those that read it take what rounding
  /// their weights does to the mean of their outputs, Σ (code's weight - weight) · mean, off their
  /// biases. Biases are trained in quantization-aware training, which leaves them as they are.
  /// Source: Nagel et al. 2019 (Data-Free Quantization), section 4.2.
  std::optional<ChannelMeans> means = std::nullopt;
};

/// The rule that decided what one node becomes. The comment is its name in plans.
enum class Placed : uint8_t {
  kProduct,              ///< `product`: codes times stored codes, summed in int32
  kProductOfActivations, ///< `product-of-activations`
  kAround,               ///< `around`: in integers since what it reads and makes is in codes
  kResidual,             ///< `residual`: the shortcut of a sum is quantized
  kMoves,                ///< `moves`: codes pass with their scale
  kAbsorbed,             ///< `absorbed`: a clamp that the producer's Q does by itself
  kEmbedding,            ///< `embedding`: rows of a stored table
  kDynamic,              ///< `dynamic`: activations are quantized at every run
  kWeightOnly,           ///< `weight-only`: stored weights, float arithmetic
  kExcluded,             ///< `excluded`: by a pattern
  kNotIncluded,          ///< `not-included`: no include pattern names it
  kInCodes,              ///< `in-codes`: the file has it in 8 bits already
  kBodies,               ///< `bodies`: it holds graphs of its own
  kNoRule,               ///< `no-rule`: the target says nothing of the operator
  kFloat,                ///< `float`: the target wants it so
  kCommutes,             ///< `commutes`: the target moves Q and DQ through it
  kNotF32,               ///< `not-f32`: its output is of another type
  kSoftmax,              ///< `softmax`: only on request
  kNoProduct,            ///< `no-product`: its inputs make it none
  kNoWeights,            ///< `no-weights`
  kWeightNotF32,         ///< `weight-not-f32`: or no constant, or with infinities
  kWeightNotConstant,    ///< `weight-not-constant`
  kConstantInput,        ///< `constant-input`: an activation is constant or not f32
  kOverflow,             ///< `overflow`: an int32 sum could
  kCostsAccuracy,        ///< `costs-accuracy`: the calibrator `auto` measured that float is better
};
std::string_view name(Placed rule);
/// Errors list what there is.
Result<Placed> parse_placed(std::string_view text);

/// What happens to one node, and why.
struct NodePlan {
  std::string node;
  std::string op;
  bool quantized = false;
  std::vector<int64_t> inputs;   ///< activations that it reads through Q/DQ
  std::optional<int64_t> weight; ///< input that is stored in 8 bits
  bool output = false;           ///< every reader of its output 0 reads it through Q/DQ
  bool int32_bias = false;       ///< the bias is stored as int32 with scale s_x * s_w
  Placed rule = Placed::kNoRule;
  std::string why;
  std::string clause; ///< of docs/targets.md
};

inline constexpr std::string_view kStepsLeftOut = "steps left out: ";
inline constexpr std::string_view kLayersInFloat = "layers in float: ";
inline constexpr std::string_view kBiasesCorrected = "biases corrected";

/// What the calibrator `auto` measured: the network with some ranges, on examples held back.
struct PlanTrial {
  /// A calibrator, for all activations or for those from one value to another; kStepsLeftOut and
  /// the names of steps with which the outputs were worse; kLayersInFloat and those in whose codes
  /// the outputs collapse; kBiasesCorrected.
  std::string what;
  double sqnr = 0; ///< of the outputs, decibels: power over squared error, -200 to 200
};

/// A layer, and the outputs with nothing but it in codes.
struct LayerCost {
  std::string node;
  double sqnr = 0; ///< as PlanTrial::sqnr
};

struct QuantizationPlan {
  std::string target;
  QuantMode mode = QuantMode::kStatic;
  uint64_t graph_hash = 0; ///< content_hash() of the graph that it was made for
  std::string calibrator;
  int64_t samples = 0;    ///< that were seen
  uint64_t data_hash = 0; ///< of those, where it is known: their batches' content
  int64_t held_back = 0;  ///< examples that `auto` measured with; 0: those that were observed
  /// The network mixes the examples of a batch, so that they were run one at a time.
  bool one_at_a_time = false;
  std::vector<PlanTrial> trials; ///< each calibrator for all, then the changes that were kept
  /// The layers that cost most, the worst first, where the best of the trials stays below 10 dB.
  std::vector<LayerCost> costly;
  std::vector<TensorPlan> tensors;
  std::vector<NodePlan> nodes;
  std::vector<PlanStep> steps; ///< in the order in which they are applied
  /// content_hash() of the prepared graph behind the steps of the stage `float`, which ranges and
  /// later steps are for; 0 in a plan without steps.
  uint64_t stepped_hash = 0;

  const TensorPlan* tensor(std::string_view value) const;
  const NodePlan* node(std::string_view name) const;
  /// Decibels of the outputs as the plan has them, if `auto` measured them: the best of the trials.
  std::optional<double> sqnr() const;
  /// A table for people.
  std::string text() const;
  /// Parses back to an equal plan, the numbers of steps included. A plan without steps is of
  /// version 1, one with steps of version 2.
  std::string to_json() const;
  static Result<QuantizationPlan> from_json(std::string_view json);
};

/// Writes a plan as JSON. Vectors of its steps with more than 64 elements go into the .npz file
/// beside it (plan.json: plan.npz), which is written first; the JSON has their hashes.
/// Errors: a file exists without `overwrite`, or cannot be written.
Status save_plan(const QuantizationPlan& plan, const std::string& path, bool overwrite);
/// Reads what save_plan or to_json wrote. Errors: no such file, another form than a plan's, numbers
/// beside it that are missing or of another plan.
Result<QuantizationPlan> load_plan(const std::string& path);
/// Where save_plan puts the numbers of the plan at `path`.
std::string plan_numbers_path(const std::string& path);

/// Takes steps that match a pattern (* and ?) out of a plan, and with them those that need them,
/// whose ids are returned. Errors: a pattern that matches none, a step of the stage `float`: ranges
/// were taken behind it, so that the plan is to be made again without it.
Result<std::vector<std::string>> exclude_steps(QuantizationPlan& plan,
                                               const std::vector<std::string>& patterns);

/// The next inputs of the graph, one tensor for each, or nullopt at the end.
using CalibrationSource = std::function<Result<std::optional<std::vector<Tensor>>>()>;

/// Evenly spaced examples of a data set, `samples` of them (0 or less: all), in batches of
/// `batch_size`, bound to the inputs of the graph. Where the graph fixes the first dimension it is
/// the size of every batch, and the last one is filled up from the first example on. Graph and data
/// set must outlive it, and one source is gone through once. Errors come with the batch: what
/// Dataset::batch and bind_inputs say.
CalibrationSource
batches_of(const Graph& graph, const Dataset& data, int64_t samples, int64_t batch_size);

/// Plans the quantization of a float graph. Batches stream; nothing of them is kept. `samples`: how
/// many the source will bring, for progress (0: not known). Errors: an unknown target or pattern
/// that matches nothing, a source that brings nothing, NaN in an activation, a mode that the target
/// cannot run, steps (a source is read once), cancellation.
Result<QuantizationPlan> plan_quantization(const Graph& graph,
                                           const CalibrationSource& source,
                                           const QuantizeOptions& options = {},
                                           int64_t samples = 0);
/// The same with batches of a data set.
Result<QuantizationPlan>
plan_quantization(const Graph& graph, const Dataset& data, const QuantizeOptions& options = {});

/// What a plan and a graph do not have in common.
struct PlanMismatch {
  bool same_graph = true;
  std::vector<std::string> unmatched; ///< values and nodes of the plan that the graph lacks
  std::vector<std::string> unplanned; ///< nodes of the graph that the plan does not mention
};
Result<PlanMismatch> compare_plan(const Graph& graph, const QuantizationPlan& plan);

enum class WeightStorage {
  kTarget, ///< as the plan's target wants it
  kFloat,  ///< float weight, QuantizeLinear, DequantizeLinear, and below 8 bits a Clip between the
           ///< two: what quantization-aware training takes
};

/// Applies a plan to the float graph: simplifies it for inference, takes the plan's steps, then
/// writes Q/DQ (or the dynamic or weight-only form) as the target wants it. Errors: something the
/// plan names is missing or ambiguous in the graph, a scale that cannot be, an operator set
/// that cannot be raised to that of its formats, a plan by which nothing becomes 8 bits (kRefused, with the reason of each layer), a step
/// that cannot be taken, a plan with steps for another graph than this.
Result<Graph> quantize(const Graph& graph,
                       const QuantizationPlan& plan,
                       WeightStorage storage = WeightStorage::kTarget);

/// After quantization-aware training with a plan applied with WeightStorage::kFloat: weights that
/// are read through Q/DQ are stored as the target wants them, biases likewise. Codes are what the
/// trained graph's QuantizeLinear and the Clip behind it give. Embeddings that the plan quantizes
/// were trained in float; they are stored with the ranges that they have now.
Result<Graph> finalize_quantization(const Graph& trained, const QuantizationPlan& plan);

} // namespace octet
