// SPDX-License-Identifier: Apache-2.0
// A plan with single layers in float or otherwise in codes.
#pragma once

#include "quant/placement.h"
#include "quant/search/journal.h"
#include "quant/steps/step.h"

#include "octet/quantize.h"

namespace octet {

/// What a plan was made with.
struct PlanSource {
  const Graph& graph;
  const Placement& placement;
  const QuantizeOptions& options;
  OpenCalibration open;
};

/// The plan with the layers of a candidate as it has them: those in float there by the rule
/// kCostsAccuracy, with those that the plan's calibrator put there. Placement is decided anew, so
/// that what lies around them follows; ranges stay what they are, but where a layer's choice takes
/// others, and those that were not needed before are observed. Steps that choose codes or correct the
/// bias of such a node go; what was fitted behind them stays, as its numbers still hold. Steps of
/// choices are fitted, those of biases in the network that the candidate is.
/// Errors: a name that is no node's, what planning says; kRefused: a layer cannot be what was chosen
/// for it, or a step does not help there.
Result<QuantizationPlan> plan_changed(const PlanSource& source,
                                      const QuantizationPlan& plan,
                                      const PlanCandidate& candidate);

/// Products that read a value in codes together with a layer: formats of activations are theirs too.
/// The layer itself is among them. `prepared`: what the plan's names are of.
std::set<std::string>
readers_with(const Graph& prepared, const QuantizationPlan& plan, const std::string& layer);

/// How a node of a plan is stored and computed: "int8", "dynamic int8", "int4/32 weights",
/// "fp8-e4m3fn", "int8 weights, int16 activations", "float".
std::string format_text(const Graph& prepared, const QuantizationPlan& plan, const NodePlan& node);

} // namespace octet
