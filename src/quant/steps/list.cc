// SPDX-License-Identifier: Apache-2.0
// The algorithms, in the order in which they are taken, and what is true of all steps.
#include <algorithm>
#include <set>

#include "core/string_util.h"
#include "ops/infer.h"
#include "quant/steps/step.h"

namespace octet {

namespace {

template <class Kind>
StepKind empty() {
  return Kind{};
}

constexpr StepAlgorithm kAlgorithms[] = {
    {"equalize", StepStage::kFloat, empty<Equalize>, fit_equalize},
    {"smooth", StepStage::kFloat, empty<Smooth>, fit_smooth},
    {"outliers", StepStage::kFloat, empty<Outliers>, fit_outliers},
    {"seq-mse", StepStage::kWeights, empty<SequentialMse>, fit_seq_mse},
    {"reconstruct", StepStage::kWeights, empty<Reconstruct>, fit_reconstruct},
    {"adaround", StepStage::kWeights, empty<AdaRound>, fit_adaround},
    {"gptq", StepStage::kWeights, empty<Gptq>, fit_gptq},
    {"reestimate-bn", StepStage::kBias, empty<ReestimateBatchNorm>, fit_reestimate_bn},
    {"correct-bias", StepStage::kBias, empty<CorrectBias>, fit_correct_bias},
};
// A kind's place in the variant is its algorithm's in the list.
static_assert(std::size(kAlgorithms) == std::variant_size_v<StepKind>);

bool matches_any(const std::vector<std::string>& patterns, std::string_view id) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob_match(pattern, id); });
}

} // namespace

std::span<const StepAlgorithm> step_algorithms() {
  return kAlgorithms;
}

std::string_view name(const StepKind& kind) {
  return kAlgorithms[kind.index()].name;
}

StepStage stage(const StepKind& kind) {
  return kAlgorithms[kind.index()].stage;
}

std::string_view name(StepStage stage) {
  switch (stage) {
  case StepStage::kFloat:
    return "float";
  case StepStage::kWeights:
    return "weights";
  case StepStage::kBias:
    return "bias";
  }
  return "float";
}

std::vector<std::string> step_names() {
  std::vector<std::string> out;
  for (const StepAlgorithm& algorithm : kAlgorithms)
    out.emplace_back(algorithm.name);
  return out;
}

Status check_step_names(std::span<const std::string> names) {
  const std::vector<std::string> known = step_names();
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return error("unknown step \"{}\"; there are {}", name, join(known, ", "));
  return ok_status();
}

bool Fitting::excluded(std::string_view id) const {
  bool out = false;
  for (const std::string& pattern : options.exclude_steps) {
    if (!glob_match(pattern, id)) continue;
    met.insert(pattern);
    out = true;
  }
  return out;
}

const RoundedWeight* chosen_codes(const StepKind& kind) {
  if (const auto* step = std::get_if<Reconstruct>(&kind)) return step;
  if (const auto* step = std::get_if<AdaRound>(&kind)) return step;
  return std::get_if<Gptq>(&kind);
}

bool has_codes(const QuantizationPlan& plan, const std::string& node) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) {
    const RoundedWeight* codes = chosen_codes(step.kind);
    return codes != nullptr && codes->weight.node == node;
  });
}

const std::string* changed_weights(const StepKind& kind) {
  if (const auto* step = std::get_if<SequentialMse>(&kind)) return &step->weight.node;
  if (const auto* step = std::get_if<ReestimateBatchNorm>(&kind)) return &step->node;
  const RoundedWeight* codes = chosen_codes(kind);
  return codes != nullptr ? &codes->weight.node : nullptr;
}

const Node* changed_product(const Graph& graph, const StepKind& kind) {
  const auto named = [&](const std::string& name) {
    const auto id = graph.find_node(name);
    return id ? &graph.node(*id) : nullptr;
  };
  if (const std::string* weights = changed_weights(kind)) return named(*weights);
  const auto* step = std::get_if<CorrectBias>(&kind);
  if (step == nullptr) return nullptr;
  const Node* node = named(step->bias.node);
  // The bias of a MatMul is that of the sum behind it.
  if (node == nullptr || !node->is("Add")) return node;
  const Node* product = graph.producer(node->input(step->bias.input == 0 ? 1 : 0));
  return product != nullptr ? product : node;
}

Result<QuantizationPlan>
with_chosen_ranges(const Graph& graph, const QuantizationPlan& plan, StepStage last) {
  QuantizationPlan out = plan;
  const auto choose = [&](const auto& kind) -> Status {
    if constexpr (requires { choose_ranges(graph, kind, out.tensors); })
      return choose_ranges(graph, kind, out.tensors);
    return ok_status();
  };
  for (const PlanStep& step : plan.steps)
    if (stage(step.kind) <= last)
      OCTET_TRY_WITH(std::visit(choose, step.kind), fmt::format("step \"{}\"", step.id));
  return out;
}

Status apply_steps(Graph& graph, std::span<const PlanStep> steps, StepStage at) {
  const bool any = std::any_of(steps.begin(), steps.end(),
                               [&](const PlanStep& step) { return stage(step.kind) == at; });
  if (!any) return ok_status();
  SteppedGraph stepped(graph);
  for (const PlanStep& step : steps)
    if (stage(step.kind) == at)
      OCTET_TRY_WITH(std::visit([&](const auto& kind) { return apply(stepped, kind); }, step.kind),
                     fmt::format("step \"{}\"", step.id));
  return infer_types(graph);
}

Status check_steps(std::span<const PlanStep> steps) {
  std::set<std::string_view> known;
  StepStage latest = StepStage::kFloat;
  for (const PlanStep& step : steps) {
    for (const std::string& need : step.needs)
      if (!known.contains(need))
        return error("step \"{}\" needs \"{}\", which no step before it is", step.id, need);
    if (!known.insert(step.id).second) return error("two steps are named \"{}\"", step.id);
    if (stage(step.kind) < latest)
      return error("step \"{}\" of the stage {} stands behind one of the stage {}", step.id,
                   name(stage(step.kind)), name(latest));
    latest = stage(step.kind);
  }
  return ok_status();
}

Result<std::vector<std::string>> exclude_steps(QuantizationPlan& plan,
                                               const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    if (std::none_of(plan.steps.begin(), plan.steps.end(),
                     [&](const PlanStep& step) { return glob_match(pattern, step.id); }))
      return error("pattern \"{}\" matches no step of the plan", pattern);
  std::set<std::string> gone;
  std::vector<std::string> dependent;
  std::vector<PlanStep> kept;
  for (const PlanStep& step : plan.steps) {
    const bool named = matches_any(patterns, step.id);
    const bool depends = std::any_of(step.needs.begin(), step.needs.end(),
                                     [&](const std::string& id) { return gone.contains(id); });
    if (named && stage(step.kind) == StepStage::kFloat)
      return error(
          "step \"{}\" cannot be left out of a plan whose ranges were taken behind it; make "
          "the plan again without it (--data, --steps, --exclude-steps)",
          step.id);
    if (!named && !depends) {
      kept.push_back(step);
      continue;
    }
    gone.insert(step.id);
    if (!named) dependent.push_back(step.id);
  }
  plan.steps = std::move(kept);
  return dependent;
}

} // namespace octet
