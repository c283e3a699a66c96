// SPDX-License-Identifier: Apache-2.0
#include "quant/search/changed_plan.h"

#include <algorithm>
#include <unordered_map>

#include "core/format.h"
#include "graph/node_names.h"
#include "quant/plan.h"
#include "quant/prepare.h"
#include "quant/scheme.h"
#include "quant/search/layer_choices.h"
#include "quant/steps/step.h"

namespace octet {

namespace {

constexpr std::string_view kSameAs = "same as ";

/// For the few activations that come into codes because a neighbour leaves them: the calibrator that
/// did best on all of them.
Calibrator best_calibrator(const QuantizationPlan& plan, const QuantizeOptions& options) {
  if (!std::holds_alternative<Auto>(options.calibrator)) return options.calibrator;
  Calibrator best = MinMax{};
  double sqnr = -1;
  for (const PlanTrial& trial : plan.trials) {
    const auto calibrator = parse_calibrator(trial.what);
    if (!calibrator.ok() || trial.sqnr <= sqnr) continue;
    best = *calibrator;
    sqnr = trial.sqnr;
  }
  return best;
}

QuantizeOptions
options_behind(const Graph& graph, const QuantizationPlan& plan, const QuantizeOptions& options) {
  QuantizeOptions out = options;
  out.steps.clear();
  out.exclude_steps.clear();
  out.calibrator = best_calibrator(plan, options);
  out.weight_calibrator = MinMax{}; // ranges of weights are the plan's
  for (const TensorPlan& tensor : plan.tensors) {
    const auto value = graph.find_value(tensor.value);
    const bool activation = value && graph.constant(*value) == nullptr;
    if (activation && tensor.ranges.size() == 1) out.ranges[tensor.value] = tensor.ranges.front();
  }
  return out;
}

/// Activations whose ranges the choices of layers take anew. Codes that were moved have theirs from
/// where they were made.
std::set<std::string> taken_anew(const Graph& graph,
                                 const QuantizationPlan& plan,
                                 const std::map<std::string, std::string>& choices) {
  std::set<std::string> out;
  for (const auto& [name, choice] : choices) {
    const auto id = graph.find_node(name);
    if (!id || find_layer_choice(choice)->calibrator.empty()) continue;
    for (const ValueId in : graph.node(*id).inputs) {
      if (!in.valid() || graph.constant(in) != nullptr) continue;
      std::string value = graph.value(in).name;
      while (out.insert(value).second) {
        const TensorPlan* tensor = plan.tensor(value);
        if (tensor == nullptr || !tensor->algorithm.starts_with(kSameAs)) break;
        value = tensor->algorithm.substr(kSameAs.size());
      }
    }
  }
  return out;
}

bool same_form(const TensorPlan& a, const TensorPlan& b) {
  return a.scheme == b.scheme && a.axis == b.axis && a.block == b.block;
}

/// Gives what both plans have in the same codes the ranges of the first, but for those taken anew.
void take_ranges(const QuantizationPlan& from,
                 const std::set<std::string>& anew,
                 QuantizationPlan& to) {
  std::unordered_map<std::string_view, const TensorPlan*> known, taken;
  for (const TensorPlan& tensor : from.tensors)
    known[tensor.value] = &tensor;
  for (TensorPlan& tensor : to.tensors) {
    const std::string_view algorithm = tensor.algorithm;
    const auto base = known.find(tensor.value);
    if (algorithm.starts_with(kSameAs)) {
      // Codes that are moved keep the scale that they had before.
      const auto source = taken.find(algorithm.substr(kSameAs.size()));
      if (source != taken.end()) tensor.ranges = source->second->ranges;
    } else if (base != known.end() && same_form(*base->second, tensor) &&
               !anew.contains(tensor.value)) {
      tensor = *base->second;
    }
    taken[tensor.value] = &tensor;
  }
}

class ChangedPlan {
 public:
  ChangedPlan(const PlanSource& source,
              const QuantizationPlan& base,
              const PlanCandidate& candidate,
              Graph prepared)
      : source_(source), base_(base), candidate_(candidate), prepared_(std::move(prepared)) {}

  Result<QuantizationPlan> run() {
    const std::set<std::string> in_float = OCTET_TRY(names_in_float());
    const std::set<std::string> anew = taken_anew(prepared_, base_, candidate_.choices);
    QuantizeOptions options = options_behind(prepared_, base_, source_.options);
    for (const std::string& value : anew)
      options.ranges.erase(value);
    for (const auto& [node, choice] : candidate_.choices)
      options.layers.push_back(format_of_layer(*find_layer_choice(choice), options.mode, node));
    out_ = OCTET_TRY(
        plan_prepared(prepared_, source_.placement, OCTET_TRY(source_.open()), options, in_float));
    OCTET_TRY(check_choices());
    take_ranges(base_, anew, out_);
    out_.calibrator = base_.calibrator;
    out_.samples = base_.samples;
    out_.held_back = base_.held_back;
    out_.trials = base_.trials;
    out_.graph_hash = base_.graph_hash;
    keep_steps();
    for (const StepStage at : {StepStage::kWeights, StepStage::kBias})
      OCTET_TRY(fit_choices(at));
    if (!out_.steps.empty()) out_.stepped_hash = prepared_.content_hash();
    return std::move(out_);
  }

 private:
  Result<std::set<std::string>> names_in_float() const {
    std::set<std::string> out = candidate_.in_float;
    for (const std::string& node : out)
      if (base_.node(node) == nullptr)
        return error("the plan has no node \"{}\" to put in float", node);
    for (const auto& [node, choice] : candidate_.choices) {
      if (base_.node(node) == nullptr || find_layer_choice(choice) == nullptr)
        return error("the plan has no node \"{}\" that could be \"{}\"", node, choice);
      if (out.contains(node)) return error("node \"{}\" is in float and \"{}\"", node, choice);
    }
    for (const NodePlan& node : base_.nodes)
      if (node.rule == Placed::kCostsAccuracy && !candidate_.choices.contains(node.node))
        out.insert(node.node);
    return out;
  }

  /// Placement has the last word on what a layer becomes.
  Status check_choices() const {
    for (const auto& [name, choice] : candidate_.choices) {
      const NodePlan* node = out_.node(name);
      const LayerChoice& chosen = *find_layer_choice(choice);
      const bool is_it = chosen.dynamic               ? node->rule == Placed::kDynamic
                         : chosen.float_activations() ? node->rule == Placed::kWeightOnly
                                                      : node->quantized;
      if (!is_it)
        return error(ErrorCode::kRefused, "layer \"{}\" cannot be \"{}\": {}", name, choice,
                     node->why);
    }
    return ok_status();
  }

  void keep_steps() {
    std::set<std::string> gone;
    for (PlanStep step : base_.steps) {
      const Node* product = changed_product(prepared_, step.kind);
      if (product != nullptr && !still_holds(step, *product)) {
        gone.insert(step.id);
        continue;
      }
      std::erase_if(step.needs, [&](const std::string& need) { return gone.contains(need); });
      out_.steps.push_back(std::move(step));
    }
  }

  /// Codes hold where a weight has the scales that it had, corrections where the layer is the same.
  bool still_holds(const PlanStep& step, const Node& product) const {
    const NodePlan* node = out_.node(product.name);
    if (node == nullptr || !node->quantized) return false;
    const auto choice = candidate_.choices.find(product.name);
    if (choice == candidate_.choices.end()) return true;
    if (stage(step.kind) == StepStage::kBias)
      return !find_layer_choice(choice->second)->step.empty();
    const std::string& weight = prepared_.value(product.input(1)).name;
    const TensorPlan *before = base_.tensor(weight), *now = out_.tensor(weight);
    return before != nullptr && now != nullptr && same_form(*before, *now);
  }

  Status fit_choices(StepStage at) {
    for (const auto& [node, choice] : candidate_.choices)
      for (const StepAlgorithm& algorithm : step_algorithms())
        if (algorithm.name == find_layer_choice(choice)->step && algorithm.stage == at)
          OCTET_TRY_WITH(fit(algorithm, node), std::string(algorithm.name));
    return ok_status();
  }

  Status fit(const StepAlgorithm& algorithm, const std::string& node) {
    std::set<std::string> met;
    const std::vector<PlanStep> steps = OCTET_TRY(algorithm.fit({.graph = prepared_,
                                                                 .plan = out_,
                                                                 .placement = source_.placement,
                                                                 .options = source_.options,
                                                                 .open = source_.open,
                                                                 .samples = 0,
                                                                 .met = met,
                                                                 .only = node}));
    if (steps.empty()) return error(ErrorCode::kRefused, "it does not help layer \"{}\"", node);
    const auto behind =
        std::find_if(out_.steps.begin(), out_.steps.end(),
                     [&](const PlanStep& step) { return stage(step.kind) > algorithm.stage; });
    out_.steps.insert(behind, steps.begin(), steps.end());
    return ok_status();
  }

  const PlanSource& source_;
  const QuantizationPlan& base_;
  const PlanCandidate& candidate_;
  Graph prepared_; ///< behind the plan's steps of the stage `float`
  QuantizationPlan out_;
};

} // namespace

Result<QuantizationPlan> plan_changed(const PlanSource& source,
                                      const QuantizationPlan& plan,
                                      const PlanCandidate& candidate) {
  Graph prepared = OCTET_TRY(prepare_for_quantization(source.graph, source.placement));
  OCTET_TRY(apply_steps(prepared, plan.steps, StepStage::kFloat));
  return ChangedPlan(source, plan, candidate, std::move(prepared)).run();
}

std::set<std::string>
readers_with(const Graph& prepared, const QuantizationPlan& plan, const std::string& layer) {
  std::set<std::string> out = {layer};
  std::set<ValueId> read;
  const NodeNames nodes(prepared);
  const auto inputs_of = [&](const std::string& name) -> std::vector<ValueId> {
    std::vector<ValueId> inputs;
    if (const auto id = nodes.find(name))
      for (const ValueId in : prepared.node(*id).inputs)
        if (in.valid() && prepared.constant(in) == nullptr) inputs.push_back(in);
    return inputs;
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (const std::string& name : out)
      for (const ValueId in : inputs_of(name))
        read.insert(in);
    for (const NodePlan& node : plan.nodes) {
      const bool product =
          node.rule == Placed::kProduct || node.rule == Placed::kProductOfActivations;
      if (!node.quantized || !product || out.contains(node.node)) continue;
      const std::vector<ValueId> inputs = inputs_of(node.node);
      if (std::any_of(inputs.begin(), inputs.end(), [&](ValueId in) { return read.contains(in); }))
        grown |= out.insert(node.node).second;
    }
  }
  return out;
}

std::string format_text(const Graph& prepared, const QuantizationPlan& plan, const NodePlan& node) {
  if (!node.quantized) return "float";
  if (node.rule == Placed::kDynamic) return "dynamic int8";
  const auto id = prepared.find_node(node.node);
  const auto format_at = [&](int64_t input) -> std::string {
    const TensorPlan* tensor =
        id ? plan.tensor(prepared.value(prepared.node(*id).input(static_cast<size_t>(input))).name)
           : nullptr;
    if (tensor == nullptr) return "int8";
    const NumberFormat format = format_of(tensor->scheme, tensor->block);
    return is_byte(format) ? "int8" : name(format);
  };
  const std::string weights = node.weight ? format_at(*node.weight) : "";
  if (node.rule == Placed::kWeightOnly) return weights + " weights";
  if (node.rule == Placed::kEmbedding) return weights + " rows";
  const std::string activations = node.inputs.empty() ? "int8" : format_at(node.inputs.front());
  return weights.empty() || weights == activations
             ? activations
             : fmt::format("{} weights, {} activations", weights, activations);
}

} // namespace octet
