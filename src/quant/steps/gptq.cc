// SPDX-License-Identifier: Apache-2.0
// Codes column by column, each making up for what the ones before did to the output of its layer
// (quant/gram/rounding.h).
// Source: Frantar et al. 2023 (GPTQ: Accurate Post-Training Quantization for Generative
// Pre-trained Transformers).
#include "quant/steps/round_weights.h"

namespace octet {

Status apply(SteppedGraph& stepped, const Gptq& step) {
  return apply_rounded(stepped, step);
}

void members(Gptq& step, StepMembers& to) {
  rounded_members(step, to);
}

Result<std::vector<PlanStep>> fit_gptq(const Fitting& fitting) {
  return fit_rounding(fitting,
                      {.name = "gptq",
                       .kind = [](RoundedWeight w) { return StepKind(Gptq{std::move(w)}); },
                       .quick = gptq_codes,
                       .thorough = nullptr});
}

} // namespace octet
