// SPDX-License-Identifier: Apache-2.0
#include "quant/search/in_float.h"

#include <algorithm>
#include <unordered_map>

#include "core/format.h"
#include "quant/plan.h"
#include "quant/prepare.h"

namespace octet {

namespace {

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

/// Gives what both plans have in codes the ranges of the first.
void take_ranges(const QuantizationPlan& from, QuantizationPlan& to) {
  constexpr std::string_view kSameAs = "same as ";
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
    } else if (base != known.end()) {
      tensor = *base->second;
    }
    taken[tensor.value] = &tensor;
  }
}

/// The node whose weight or bias a step changes; nullptr: it leaves what the float network computes.
const std::string* changed_node(const StepKind& kind) {
  if (const auto* step = std::get_if<AdaRound>(&kind)) return &step->weight.node;
  if (const auto* step = std::get_if<Gptq>(&kind)) return &step->weight.node;
  if (const auto* step = std::get_if<CorrectBias>(&kind)) return &step->bias.node;
  return nullptr;
}

std::vector<PlanStep> steps_of_quantized(const QuantizationPlan& from, const QuantizationPlan& to) {
  std::vector<PlanStep> out;
  std::set<std::string> gone;
  for (PlanStep step : from.steps) {
    const std::string* name = changed_node(step.kind);
    const NodePlan* node = name != nullptr ? to.node(*name) : nullptr;
    if (node != nullptr && !node->quantized) {
      gone.insert(step.id);
      continue;
    }
    std::erase_if(step.needs, [&](const std::string& need) { return gone.contains(need); });
    out.push_back(std::move(step));
  }
  return out;
}

} // namespace

Result<QuantizationPlan> plan_in_float(const PlanSource& source,
                                       const QuantizationPlan& plan,
                                       const std::set<std::string>& in_float) {
  Graph prepared = OCTET_TRY(prepare_for_quantization(source.graph));
  OCTET_TRY(apply_steps(prepared, plan.steps, StepStage::kFloat));
  std::set<std::string> names;
  for (const std::string& node : in_float) {
    if (plan.node(node) == nullptr)
      return error("the plan has no node \"{}\" to put in float", node);
    names.insert(node);
  }
  for (const NodePlan& node : plan.nodes)
    if (node.rule == Placed::kCostsAccuracy) names.insert(node.node);
  const QuantizeOptions options = options_behind(prepared, plan, source.options);
  QuantizationPlan out = OCTET_TRY(plan_prepared(std::move(prepared), source.placement,
                                                 OCTET_TRY(source.open()), options, names));
  take_ranges(plan, out);
  out.calibrator = plan.calibrator;
  out.samples = plan.samples;
  out.held_back = plan.held_back;
  out.trials = plan.trials;
  out.graph_hash = plan.graph_hash;
  out.steps = steps_of_quantized(plan, out);
  if (!out.steps.empty()) out.stepped_hash = plan.stepped_hash;
  return out;
}

} // namespace octet
