// SPDX-License-Identifier: Apache-2.0
// Steps of a plan: fitted with data, applied without. An algorithm is one file of this folder with
// the three functions of its kind, one alternative of StepKind and one line in list.cc.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "quant/placement.h"
#include "quant/steps/stepped_graph.h"

#include "octet/plan_steps.h"
#include "octet/quantize.h"

namespace octet {

/// Opens the calibration data from its beginning.
using OpenCalibration = std::function<Result<CalibrationSource>()>;

/// What a step is fitted with.
struct Fitting {
  const Graph& graph;           ///< prepared, with types, behind the steps of the plan
  const QuantizationPlan& plan; ///< so far: ranges and placement too behind the float stage
  const Placement& placement;
  const QuantizeOptions& options;
  const OpenCalibration& open;
  int64_t samples; ///< of the data, for progress; 0: not known
  /// Patterns of options.exclude_steps that some step met.
  std::set<std::string>& met;
  /// The only product that a step of the stages `weights` and `bias` is fitted for; empty: all.
  std::string only = {};
  /// The float graph as it was before it was prepared; null: not known.
  const Graph* given = nullptr;

  /// Whether the user left out the step of that id.
  bool excluded(std::string_view id) const;
  /// Whether steps are fitted for a product.
  bool takes(const NodePlan& product) const { return only.empty() || only == product.node; }
};

/// What is written of a kind's members, for reading and for writing: each is named once.
class StepMembers {
 public:
  virtual ~StepMembers() = default;
  virtual void text(const char* key, std::string& member) = 0;
  virtual void number(const char* key, double& member) = 0;
  virtual void whole(const char* key, int64_t& member) = 0;
  virtual void input(const char* key, InputOf& member) = 0;
  virtual void inputs(const char* key, std::vector<InputOf>& member) = 0;
  virtual void indices(const char* key, std::vector<int64_t>& member) = 0;
  /// f32 vectors, finite.
  virtual void vector(const char* key, Tensor& member) = 0;
  /// i8 vectors.
  virtual void codes(const char* key, Tensor& member) = 0;
};

struct StepAlgorithm {
  std::string_view name;
  StepStage stage;
  StepKind (*empty)();
  /// Steps in the order in which they are to be applied; their ids begin with the name.
  Result<std::vector<PlanStep>> (*fit)(const Fitting& fitting);
};
/// In the order in which they are taken.
std::span<const StepAlgorithm> step_algorithms();

/// One file a kind: equalize.cc, smooth.cc, adaround.cc, ... Errors of apply: a name that the graph lacks,
/// numbers that do not fit, a change that would not keep the network's function.
Status apply(SteppedGraph& graph, const Equalize& step);
Status apply(SteppedGraph& graph, const Smooth& step);
Status apply(SteppedGraph& graph, const Outliers& step);
Status apply(SteppedGraph& graph, const SequentialMse& step);
Status apply(SteppedGraph& graph, const Reconstruct& step);
Status apply(SteppedGraph& graph, const AdaRound& step);
Status apply(SteppedGraph& graph, const Gptq& step);
Status apply(SteppedGraph& graph, const ReestimateBatchNorm& step);
Status apply(SteppedGraph& graph, const CorrectBias& step);
void members(Equalize& step, StepMembers& to);
void members(Smooth& step, StepMembers& to);
void members(Outliers& step, StepMembers& to);
void members(SequentialMse& step, StepMembers& to);
void members(Reconstruct& step, StepMembers& to);
void members(AdaRound& step, StepMembers& to);
void members(Gptq& step, StepMembers& to);
void members(ReestimateBatchNorm& step, StepMembers& to);
void members(CorrectBias& step, StepMembers& to);
Result<std::vector<PlanStep>> fit_equalize(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_smooth(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_outliers(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_seq_mse(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_reconstruct(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_adaround(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_gptq(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_reestimate_bn(const Fitting& fitting);
Result<std::vector<PlanStep>> fit_correct_bias(const Fitting& fitting);

/// The codes that a step has chosen; null: it chooses none.
const RoundedWeight* chosen_codes(const StepKind& kind);
/// Whether a step of the plan has chosen the codes of a node's weights.
bool has_codes(const QuantizationPlan& plan, const std::string& node);
/// The node of whose weights a step behind ranges chooses scales or codes; null: of none.
const std::string* changed_weights(const StepKind& kind);
/// The product whose weight or bias a step behind ranges changes; null: of none, or it is not there.
const Node* changed_product(const Graph& graph, const StepKind& kind);
/// The kinds that choose ranges of weights: those of the plan become theirs. What apply would refuse
/// changes nothing. Errors: another number of ranges, ranges that cannot be so.
Status choose_ranges(const Graph& graph, const SequentialMse& step, std::vector<TensorPlan>& plans);
Status
choose_ranges(const Graph& graph, const ReestimateBatchNorm& step, std::vector<TensorPlan>& plans);
/// The plan with the ranges that its steps up to a stage have chosen in place of its own.
Result<QuantizationPlan>
with_chosen_ranges(const Graph& graph, const QuantizationPlan& plan, StepStage last);

/// Applies those of one stage; errors begin with the step's id.
Status apply_steps(Graph& graph, std::span<const PlanStep> steps, StepStage stage);
/// Errors: an id twice, a need that no earlier step has, a stage before the one of an earlier step.
Status check_steps(std::span<const PlanStep> steps);
/// Names out of a list of `--steps`. Errors list what there is.
Status check_step_names(std::span<const std::string> names);

} // namespace octet
