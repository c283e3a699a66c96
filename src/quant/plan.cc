// SPDX-License-Identifier: Apache-2.0
// Makes a plan: places Q/DQ by the target's rules, calibrates what needs a range, takes the ranges
// of the weights, and notes what was odd.
#include "quant/plan.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/format.h"
#include "graph/label.h"
#include "graph/sizes.h"
#include "ops/infer.h"
#include "ops/value_range.h"
#include "passes/rewrite.h"
#include "passes/simplify/rules.h"
#include "passes/standardize/raise_opset.h"
#include "quant/activation_formats.h"
#include "quant/bias_room.h"
#include "quant/bias_site.h"
#include "quant/calibrate.h"
#include "quant/choose.h"
#include "quant/format_rules.h"
#include "quant/mean_correction.h"
#include "quant/one_at_a_time.h"
#include "quant/place.h"
#include "quant/prepare.h"
#include "quant/scheme.h"
#include "quant/weight_plans.h"

#include "octet/passes.h"

namespace octet {

namespace {

/// The first operator set whose Q and DQ have an axis.
constexpr int64_t kQdqOpset = 13;

class Planner {
 public:
  Planner(Graph graph,
          const Placement& placement,
          const QuantizeOptions& options,
          const std::set<std::string>& in_float = {})
      : graph_(std::move(graph)), placement_(placement), options_(options), in_float_(in_float) {
    for (const NodeId id : graph_.nodes())
      nodes_.try_emplace(graph_.node(id).name, id);
  }

  const Graph& graph() const { return graph_; }

  Result<QuantizationPlan> run(const CalibrationSource& source, int64_t samples) {
    plan_.target = placement_.target;
    plan_.mode = options_.mode;
    plan_.calibrator = name(options_.calibrator);
    plan_.nodes = OCTET_TRY(options_.mode == QuantMode::kStatic
                                ? place(graph_, placement_, options_, in_float_)
                                : place_weights(graph_, placement_, options_, in_float_));
    WeightPlans weights(graph_, placement_, options_, plan_);
    OCTET_TRY(weights.list());
    if (options_.mode == QuantMode::kStatic) {
      OCTET_TRY(choose_schemes());
      formats_ =
          OCTET_TRY(activation_formats(graph_, plan_.nodes, options_, placement_.activation.type));
      OCTET_TRY(plan_activations(source, samples));
    } else {
      plan_.calibrator.clear();
    }
    OCTET_TRY(weights.observe());
    if (!choices_.empty())
      OCTET_TRY_WITH(
          choose_ranges({graph_, placement_, options_, choices_, held_, whole_, means_}, plan_),
          "auto");
    make_room_for_biases(graph_, placement_, plan_);
    return std::move(plan_);
  }

 private:
  const Node& node_of(const NodePlan& plan) const { return graph_.node(nodes_.at(plan.node)); }

  Status choose_schemes() {
    scheme_ = placement_.activation;
    const bool fewer =
        options_.activation_bits < 8 ||
        std::any_of(options_.layers.begin(), options_.layers.end(),
                    [](const LayerFormat& l) { return l.activation_bits.value_or(8) < 8; });
    if (fewer && placement_.symmetric_only)
      return error("target {} takes activations of 8 bits only: below them there is a Clip on "
                   "codes, which it misreads (targets 7)",
                   placement_.target);
    if (!options_.symmetric) return ok_status();
    if (!*options_.symmetric && placement_.symmetric_only)
      return error("target {} takes symmetric activations only (targets 1.1 row 12)",
                   placement_.target);
    scheme_.symmetric = *options_.symmetric;
    return ok_status();
  }

  Scheme activation_scheme(const Node* producer, const ActivationFormat& format) const {
    Scheme scheme = with_bits(scheme_of(format.format, scheme_), format.bits);
    if (!is_integer(scheme.type)) return scheme;
    const bool clamp = producer != nullptr && (producer->is("Relu") || producer->is("Clip"));
    if (clamp && placement_.asymmetric_after_clamp) scheme.symmetric = false;
    return scheme;
  }

  void want(ValueId id) {
    if (!seen_.insert(id).second) return;
    const ActivationFormat& format = formats_.at(id);
    requests_.push_back({id, activation_scheme(graph_.producer(id), format), format.calibrator});
  }

  Status plan_activations(const CalibrationSource& source, int64_t samples) {
    has_data_ = static_cast<bool>(source);
    std::set<ValueId> moved;
    for (const NodePlan& node_plan : plan_.nodes)
      if (node_plan.rule == Placed::kMoves && node_plan.output)
        moved.insert(node_of(node_plan).output(0));
    for (const NodePlan& node_plan : plan_.nodes) {
      if (!node_plan.quantized) continue;
      const Node& node = node_of(node_plan);
      for (const int64_t i : node_plan.inputs)
        if (!moved.contains(node.input(static_cast<size_t>(i))))
          want(node.input(static_cast<size_t>(i)));
      if (node_plan.output && !moved.contains(node.output(0))) want(node.output(0));
    }
    std::vector<ObserveRequest> unknown;
    for (const ObserveRequest& request : requests_)
      if (!fixed_range(request.value) && !given_range(request.value) && !taken_as_it_is(request))
        unknown.push_back(request);
    if (!unknown.empty() && !source && !options_.ranges.empty())
      return error("{} activations have no range, the first is \"{}\"; add calibration data",
                   unknown.size(), graph_.value(unknown.front().value).name);
    const bool choose = std::any_of(unknown.begin(), unknown.end(), [&](const auto& request) {
      return is_auto(request, options_);
    });
    const bool correct = options_.correct_biases.value_or(choose);
    if (options_.correct_biases.value_or(false) && !has_data_)
      return error("biases are corrected by means of activations; add calibration data");
    Calibration calibration = OCTET_TRY(
        calibrate(graph_, unknown, source, options_, samples, choose ? &held_ : nullptr,
                  correct && has_data_ ? means_to_observe() : std::vector<MeanRequest>()));
    plan_.samples = calibration.samples;
    for (size_t i = 0; i < plan_.tensors.size(); ++i)
      tensors_.try_emplace(plan_.tensors[i].value, i);
    for (const ObserveRequest& request : requests_)
      add_activation(request, calibration);
    for (auto& [id, observer] : calibration.whole)
      whole_.emplace(graph_.value(id).name, std::move(observer));
    for (auto& [id, means] : calibration.means)
      means_.emplace(graph_.value(id).name, std::move(means));
    for (const NodePlan& node_plan : plan_.nodes)
      if (node_plan.rule == Placed::kMoves && node_plan.output) add_moved(node_of(node_plan));
    if (options_.correct_biases.value_or(false))
      for (TensorPlan& tensor : plan_.tensors)
        if (const auto found = means_.find(tensor.value); found != means_.end())
          tensor.means = found->second.means;
    return ok_status();
  }

  /// Of what products with a bias read, by the channels that the first of them sums over.
  std::vector<MeanRequest> means_to_observe() const {
    std::vector<MeanRequest> out;
    std::set<ValueId> listed;
    const Uses uses(graph_);
    for (const NodePlan& node_plan : plan_.nodes) {
      if (!corrects_bias(node_plan)) continue;
      const Node& node = node_of(node_plan);
      const auto axis = summed_axis(graph_, node);
      if (axis && bias_site(graph_, uses, placement_, node) && listed.insert(node.input(0)).second)
        out.push_back({node.input(0), *axis});
    }
    return out;
  }

  std::optional<Range> fixed_range(ValueId id) const {
    const Node* producer = graph_.producer(id);
    const PlacementRule* rule = producer != nullptr ? placement_.rule(*producer) : nullptr;
    return rule != nullptr && rule->on_request ? std::optional(range_of(graph_, id)) : std::nullopt;
  }

  std::optional<Range> given_range(ValueId id) const {
    const auto found = options_.ranges.find(graph_.value(id).name);
    if (found != options_.ranges.end()) return found->second;
    // An operator that preparing wrote as several has values between them that no range was given
    // for.
    const Node* producer = has_data_ ? nullptr : graph_.producer(id);
    if (producer == nullptr || !moves_values(*producer)) return std::nullopt;
    return given_range(producer->input(0));
  }

  std::optional<Range> taken_as_it_is(const ObserveRequest& request) const {
    return direct_range(request.scheme, options_.direct_activations && !request.calibrator);
  }

  void add_activation(const ObserveRequest& request, const Calibration& calibration) {
    TensorPlan out;
    out.value = graph_.value(request.value).name;
    out.scheme = request.scheme;
    out.algorithm = name(request.calibrator.value_or(options_.calibrator));
    if (const auto fixed = fixed_range(request.value)) {
      out.algorithm = "fixed";
      out.ranges = {*fixed};
    } else if (const auto given = given_range(request.value)) {
      out.algorithm = "given";
      out.ranges = {*given};
      out.note = replaced_note(out);
    } else if (const auto direct = taken_as_it_is(request)) {
      out.algorithm = kDirect;
      out.ranges = {*direct};
    } else {
      const Observation& seen = calibration.values.at(request.value);
      out.ranges = {seen.range};
      if (!seen.choices.empty()) choices_[out.value] = seen.choices;
      out.note = replaced_note(out);
      if (seen.infinities > 0)
        out.note = fmt::format("{} infinities were left out of the range", seen.infinities);
    }
    add(std::move(out));
  }

  void add_moved(const Node& node) {
    const auto source = tensors_.find(graph_.value(node.input(0)).name);
    if (source == tensors_.end()) return;
    TensorPlan out = plan_.tensors[source->second];
    out.algorithm = "same as " + out.value;
    out.value = graph_.value(node.output(0)).name;
    out.note.clear();
    add(std::move(out));
  }

  void add(TensorPlan tensor) {
    tensors_.try_emplace(tensor.value, plan_.tensors.size());
    plan_.tensors.push_back(std::move(tensor));
  }

  Graph graph_;
  const Placement& placement_;
  const QuantizeOptions& options_;
  std::set<std::string> in_float_;
  std::unordered_map<std::string, NodeId> nodes_; ///< by name
  Scheme scheme_;                                 ///< of activations, but for the bits
  std::map<ValueId, ActivationFormat> formats_;
  QuantizationPlan plan_;
  std::unordered_map<std::string, size_t> tensors_; ///< of the plan, by value, when weights are in
  std::set<ValueId> seen_;
  std::vector<ObserveRequest> requests_;
  bool has_data_ = false;
  RangeChoices choices_;
  std::map<std::string, Observer> whole_; ///< see Choosing
  std::map<std::string, ObservedMeans> means_;
  HeldBack held_;
};

Status check_mode(const Placement& placement, const QuantizeOptions& options) {
  if (options.correct_biases.value_or(false) && options.mode != QuantMode::kStatic)
    return error(ErrorCode::kUnsupported,
                 "biases are corrected in static quantization, not in the {} mode",
                 name(options.mode));
  if (options.reduce_range && options.mode == QuantMode::kWeightOnly)
    return error(ErrorCode::kUnsupported,
                 "ranges are reduced for products of 8-bit codes; the weight-only mode has none");
  if (options.mode == QuantMode::kDynamic && placement.dynamic == DynamicForm::kNone)
    return error(ErrorCode::kUnsupported,
                 "target {} has no dynamic quantization (targets 1.3); use static or weight-only",
                 placement.target);
  OCTET_TRY(check_formats(placement, options));
  for (const LayerFormat& layer : options.layers)
    if (options.mode != QuantMode::kStatic && (layer.activation_bits || layer.calibrator))
      return error(ErrorCode::kUnsupported,
                   "pattern \"{}\": bits and calibrators of activations are for static "
                   "quantization, not for the {} mode",
                   layer.pattern, name(options.mode));
  return ok_status();
}

} // namespace

std::string_view name(QuantMode mode) {
  switch (mode) {
  case QuantMode::kStatic:
    return "static";
  case QuantMode::kDynamic:
    return "dynamic";
  case QuantMode::kWeightOnly:
    return "weight-only";
  }
  return "static";
}

Result<QuantMode> parse_quant_mode(std::string_view text) {
  for (const QuantMode mode : {QuantMode::kStatic, QuantMode::kDynamic, QuantMode::kWeightOnly})
    if (name(mode) == text) return mode;
  return error("unknown mode \"{}\"; use static, dynamic or weight-only", text);
}

/// Plans name nodes: those without a name of their own take their first output's.
static void name_nodes(Graph& graph) {
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> next; // by base: all before are taken
  for (const NodeId id : graph.nodes()) {
    Node& node = graph.mutable_node(id);
    if (node.name.empty() && node.output(0).valid()) node.name = graph.value(node.output(0)).name;
    if (taken.insert(node.name).second) continue;
    const std::string base = node.name;
    int& k = next.try_emplace(base, 1).first->second;
    do
      node.name = fmt::format("{}_{}", base, k++);
    while (!taken.insert(node.name).second);
  }
}

Result<Graph> prepare_for_quantization(const Graph& graph) {
  Graph out = graph;
  name_nodes(out);
  if (out.opset() < kQdqOpset) OCTET_TRY(raise_opset(out, kQdqOpset));
  OCTET_TRY_WITH(simplify(out), "simplify");
  OCTET_TRY(infer_types(out));
  if (constant_bytes(out) <= kLargeConstantBytes)
    OCTET_TRY(rewrite(out, std::vector<Rule>{{"fold_weights", fold_weights}}));
  return out;
}

Result<Graph> prepare_for_quantization(const Graph& graph, const Placement& placement) {
  Graph out = OCTET_TRY(prepare_for_quantization(graph));
  if (placement.arrange == nullptr) return out;
  OCTET_TRY_WITH(placement.arrange(out), "arrange");
  name_nodes(out);
  return out;
}

namespace {

/// Adds the steps of one stage to a plan; those of the stage `float` are taken in `graph` as well.
Status fit_steps(const Graph& given,
                 Graph& graph,
                 QuantizationPlan& plan,
                 const Placement& placement,
                 const OpenCalibration& open,
                 const QuantizeOptions& options,
                 int64_t samples,
                 StepStage at,
                 std::set<std::string>& met) {
  for (const StepAlgorithm& algorithm : step_algorithms()) {
    const auto& wanted = options.steps;
    if (algorithm.stage != at ||
        std::find(wanted.begin(), wanted.end(), algorithm.name) == wanted.end())
      continue;
    std::vector<PlanStep> steps = OCTET_TRY_WITH(algorithm.fit({.graph = graph,
                                                                .plan = plan,
                                                                .placement = placement,
                                                                .options = options,
                                                                .open = open,
                                                                .samples = samples,
                                                                .met = met,
                                                                .given = &given}),
                                                 std::string(algorithm.name));
    if (at == StepStage::kFloat) {
      OCTET_TRY(apply_steps(graph, steps, at));
      for (PlanStep& step : steps)
        for (const PlanStep& earlier : plan.steps)
          step.needs.push_back(earlier.id);
    }
    plan.steps.insert(plan.steps.end(), steps.begin(), steps.end());
  }
  return ok_status();
}

Status check_step_options(const QuantizeOptions& options) {
  OCTET_TRY(check_step_names(options.steps));
  if (std::holds_alternative<Auto>(options.weight_calibrator))
    return error("weight calibrator: auto measures ranges of activations; take min-max or mse");
  for (const StepAlgorithm& algorithm : step_algorithms())
    if (options.mode != QuantMode::kStatic && algorithm.stage != StepStage::kWeights &&
        std::count(options.steps.begin(), options.steps.end(), algorithm.name) > 0)
      return error(ErrorCode::kUnsupported,
                   "\"{}\": such steps are for static quantization, not for the {} mode",
                   algorithm.name, name(options.mode));
  if (options.steps.empty() && !options.exclude_steps.empty())
    return error("steps are left out of a plan that takes none; name those that it takes");
  return ok_status();
}

/// Whether some ranges are chosen by what they do on examples held back.
bool holds_back(const QuantizeOptions& options) {
  const auto measures = [](const Calibrator& c) { return std::holds_alternative<Auto>(c); };
  return options.mode == QuantMode::kStatic &&
         (measures(options.calibrator) ||
          std::any_of(options.layers.begin(), options.layers.end(), [&](const LayerFormat& layer) {
            return layer.calibrator && measures(*layer.calibrator);
          }));
}

/// The data without the examples that calibration holds back, so that nothing which is measured on
/// them was fitted to them. The graph must outlive it.
OpenCalibration without_held_back(const Graph& graph, OpenCalibration open, int64_t samples) {
  return [&graph, open = std::move(open), samples]() -> Result<CalibrationSource> {
    CalibrationSource all = OCTET_TRY(open());
    if (!all) return all;
    auto held = std::make_shared<HeldBack>();
    return CalibrationSource(
        [held, rest = hold_back(graph, std::move(all), samples, *held)] { return rest(); });
  };
}

/// Whether a plan is better without the steps in front of it: what they promise is predicted from a
/// few examples. The plan without them then says what was measured.
bool harm(std::span<const PlanStep> steps,
          const QuantizationPlan& with,
          QuantizationPlan& without) {
  constexpr double kClearly = 0.5;
  if (!without.sqnr() || !(*without.sqnr() > *with.sqnr() + kClearly)) return false;
  std::vector<std::string> names;
  for (const PlanStep& step : steps)
    if (const std::string kind(name(step.kind));
        std::find(names.begin(), names.end(), kind) == names.end())
      names.push_back(kind);
  without.trials.push_back(
      {fmt::format("{}{}", kStepsLeftOut, fmt::join(names, ", ")), with.sqnr().value()});
  return true;
}

Result<QuantizationPlan> plan_with_steps(const Graph& graph,
                                         const Placement& placement,
                                         const OpenCalibration& open,
                                         const QuantizeOptions& options,
                                         int64_t samples) {
  OCTET_TRY(check_mode(placement, options));
  OCTET_TRY(check_step_options(options));
  if (!options.steps.empty() && !OCTET_TRY(open()))
    return error("steps are fitted with a data set, and none was given");
  Graph prepared = OCTET_TRY(prepare_for_quantization(graph, placement));
  const OpenCalibration fitted =
      holds_back(options) ? without_held_back(prepared, open, samples) : open;
  const Graph without_steps = prepared;
  std::set<std::string> met;
  QuantizationPlan float_part;
  OCTET_TRY(fit_steps(graph, prepared, float_part, placement, fitted, options, samples,
                      StepStage::kFloat, met));
  QuantizationPlan plan =
      OCTET_TRY(Planner(prepared, placement, options).run(OCTET_TRY(open()), samples));
  if (!float_part.steps.empty() && plan.sqnr()) {
    QuantizationPlan plain =
        OCTET_TRY(Planner(without_steps, placement, options).run(OCTET_TRY(open()), samples));
    if (harm(float_part.steps, plan, plain)) {
      plan = std::move(plain);
      prepared = without_steps;
      float_part.steps.clear();
    }
  }
  plan.steps = std::move(float_part.steps);
  for (const StepStage at : {StepStage::kWeights, StepStage::kBias})
    OCTET_TRY(fit_steps(graph, prepared, plan, placement, fitted, options, samples, at, met));
  for (const std::string& pattern : options.exclude_steps)
    if (!met.contains(pattern))
      return error("pattern \"{}\" matches no step that could be taken", pattern);
  if (!plan.steps.empty()) plan.stepped_hash = prepared.content_hash();
  plan.graph_hash = graph.content_hash();
  return plan;
}

} // namespace

Result<QuantizationPlan> plan_prepared(Graph graph,
                                       const Placement& placement,
                                       const CalibrationSource& source,
                                       const QuantizeOptions& options,
                                       const std::set<std::string>& in_float) {
  return Planner(std::move(graph), placement, options, in_float).run(source, options.samples);
}

Result<QuantizationPlan> make_plan(const Graph& graph,
                                   const Placement& placement,
                                   const OpenCalibration& open,
                                   const QuantizeOptions& options,
                                   int64_t samples) {
  const auto mixes = std::make_shared<std::optional<bool>>();
  QuantizationPlan plan =
      OCTET_TRY_WITH(plan_with_steps(graph, placement, without_mixing(graph, open, options, mixes),
                                     options, samples),
                     "plan");
  plan.one_at_a_time = mixes->value_or(false);
  return plan;
}

const TensorPlan* QuantizationPlan::tensor(std::string_view value) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorPlan& t) { return t.value == value; });
  return found == tensors.end() ? nullptr : &*found;
}

const NodePlan* QuantizationPlan::node(std::string_view node_name) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodePlan& n) { return n.node == node_name; });
  return found == nodes.end() ? nullptr : &*found;
}

std::optional<double> QuantizationPlan::sqnr() const {
  std::optional<double> out;
  for (const PlanTrial& trial : trials)
    out = std::max(out.value_or(trial.sqnr), trial.sqnr);
  return out;
}

} // namespace octet
