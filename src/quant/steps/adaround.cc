// SPDX-License-Identifier: Apache-2.0
// Each weight goes down or up, as is learned for the output of its layer (quant/gram/rounding.h).
// Source: Nagel et al. 2020 (Up or Down? Adaptive Rounding for Post-Training Quantization).
#include "quant/steps/round_weights.h"

namespace octet {

namespace {

/// What descent alone makes of nearest codes.
Codes2d descended_codes(const RoundingProblem& problem,
                        std::span<const double> gram,
                        ParallelFor& workers) {
  Codes2d out = nearest_codes(problem);
  descend(problem, gram, out, workers);
  return out;
}

} // namespace

Status apply(SteppedGraph& stepped, const AdaRound& step) {
  return apply_rounded(stepped, step);
}

void members(AdaRound& step, StepMembers& to) {
  rounded_members(step, to);
}

Result<std::vector<PlanStep>> fit_adaround(const Fitting& fitting) {
  return fit_rounding(fitting,
                      {.name = "adaround",
                       .kind = [](RoundedWeight w) { return StepKind(AdaRound{std::move(w)}); },
                       .quick = descended_codes,
                       .thorough = adaround_codes});
}

} // namespace octet
