// SPDX-License-Identifier: Apache-2.0
// A plan with further layers in float, without a new look at the data.
#pragma once

#include <set>
#include <string>

#include "quant/placement.h"
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

/// The plan with the nodes named in `in_float` there, by the rule kCostsAccuracy, and those that its
/// calibrator put there. Placement is decided anew, so that what lies around them follows; ranges
/// stay what they are, and those that were not needed before are observed. Steps that choose codes or
/// correct the bias of such a node go; what was fitted behind them stays, as its numbers still hold.
/// Errors: a name that is no node's, what planning says.
Result<QuantizationPlan> plan_in_float(const PlanSource& source,
                                       const QuantizationPlan& plan,
                                       const std::set<std::string>& in_float);

} // namespace octet
