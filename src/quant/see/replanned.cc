// SPDX-License-Identifier: Apache-2.0
#include "quant/see/replanned.h"

#include <algorithm>
#include <set>

#include "graph/node_names.h"
#include "ops/infer.h"
#include "quant/dynamic_lstm.h"
#include "quant/place.h"
#include "quant/plan.h"
#include "quant/see/trials.h"

namespace octet {

namespace {

/// Options by which a plan like this one is made.
Result<QuantizeOptions> options_like(const Replanning& r) {
  QuantizeOptions out = r.options;
  const Result<Calibrator> calibrator = parse_calibrator(r.plan.calibrator);
  out.calibrator = calibrator.ok() ? *calibrator : Calibrator{Auto{}};
  std::set<std::string> weights;
  const NodeNames nodes(r.prepared);
  for (const NodePlan& node : r.plan.nodes) {
    const auto id = nodes.find(node.node);
    if (!id) continue;
    for (const size_t i : weight_inputs(node))
      weights.insert(r.prepared.value(r.prepared.node(*id).input(i)).name);
  }
  bool some_axis = false;
  int fewest = 8, activation = 8;
  for (const TensorPlan& tensor : r.plan.tensors) {
    some_axis = some_axis || tensor.axis;
    int& bits = weights.contains(tensor.value) ? fewest : activation;
    bits = std::min(bits, tensor.scheme.bits);
  }
  out.weight_bits = fewest;
  out.activation_bits = activation;
  out.per_channel = some_axis || weights.empty();
  // Products that the plan leaves in float.
  for (const NodePlan& usual : OCTET_TRY(place(r.prepared, r.placement, out))) {
    const NodePlan* now = r.plan.node(usual.node);
    if (usual.weight && now != nullptr && !now->weight) out.exclude.push_back(usual.node);
  }
  return out;
}

std::vector<std::string> nodes_of(const QuantizationPlan& plan) {
  std::vector<std::string> out;
  for (const PlanStep& step : plan.steps) {
    if (const auto* smooth = std::get_if<Smooth>(&step.kind))
      for (const InputOf& consumer : smooth->consumers)
        out.push_back(consumer.node);
    if (const auto* equalize = std::get_if<Equalize>(&step.kind)) {
      out.push_back(equalize->first);
      out.push_back(equalize->second);
    }
  }
  return out;
}

} // namespace

Result<std::vector<Replanned>> replanned_with(const Replanning& r,
                                              const std::vector<std::string>& steps) {
  std::vector<Replanned> out;
  const bool has_some =
      std::any_of(r.plan.steps.begin(), r.plan.steps.end(),
                  [](const PlanStep& step) { return stage(step.kind) == StepStage::kFloat; });
  if (r.plan.mode != QuantMode::kStatic || has_some || steps.empty()) return out;
  QuantizeOptions options = OCTET_TRY(options_like(r));
  const QuantizationPlan usual =
      OCTET_TRY(make_plan(r.graph, r.placement, r.open, options, r.samples));
  PlanTrials without(r.prepared, r.placement, options.executor, options.mask_input);
  const double error_without = OCTET_TRY(without.error_of(usual, r.held));
  for (const std::string& step : steps) {
    options.steps = {step};
    Replanned one{step,
                  OCTET_TRY(make_plan(r.graph, r.placement, r.open, options, r.samples)),
                  {},
                  0,
                  error_without};
    if (one.plan.steps.empty()) continue;
    Graph stepped = r.prepared;
    OCTET_TRY(apply_steps(stepped, one.plan.steps, StepStage::kFloat));
    PlanTrials with(stepped, r.placement, options.executor, options.mask_input);
    one.error = OCTET_TRY(with.error_of(one.plan, r.held));
    one.nodes = nodes_of(one.plan);
    out.push_back(std::move(one));
  }
  return out;
}

} // namespace octet
