// SPDX-License-Identifier: Apache-2.0
// What algorithms that choose the codes of weights share: which layers, the passes over the data,
// how a choice is judged, and the step that comes of it.
#pragma once

#include "quant/gram/rounding.h"
#include "quant/steps/step.h"

namespace octet {

/// Codes for a layer's weights and a Gram matrix that is positive definite.
using ChooseCodes = Codes2d (*)(const RoundingProblem& problem,
                                std::span<const double> gram,
                                ParallelFor& workers);

struct RoundingAlgorithm {
  std::string_view name;
  StepKind (*kind)(RoundedWeight numbers);
  /// Is run for each damping of the Gram matrix, of which the best for the judged examples is
  /// taken.
  ChooseCodes quick;
  /// Is run once with that damping; null: there is none.
  ChooseCodes thorough;
};

/// Steps for the layers whose error on the judged examples falls by 1 % at least.
Result<std::vector<PlanStep>> fit_rounding(const Fitting& fitting, const RoundingAlgorithm& with);
/// The weight becomes codes times scales.
Status apply_rounded(SteppedGraph& stepped, const RoundedWeight& step);
void rounded_members(RoundedWeight& step, StepMembers& to);

} // namespace octet
